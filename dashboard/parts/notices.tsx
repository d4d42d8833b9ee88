// Short messages in a corner, announced to screen readers.

import { dismiss, notices } from "../state/notice.ts";
import { Icon } from "./icon.tsx";
import { Lamp } from "./lamp.tsx";

export const Notices = () => (
  <div class="notices" role="status" aria-live="polite">
    {notices.value.map(({ id, tone, text }) => (
      <div key={id} class={`notice notice-${tone}`}>
        <Lamp aspect={tone === "done" ? "done" : "stop"} />
        <span>{text}</span>
        <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(id)}>
          <Icon name="close" />
        </button>
      </div>
    ))}
  </div>
);
