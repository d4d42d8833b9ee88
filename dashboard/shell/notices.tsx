// Short messages in a corner, announced to screen readers.

import { Icon } from "../parts/icon.tsx";
import { Lamp } from "../parts/lamp.tsx";
import { dismiss, notices } from "../state/notice.ts";

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
