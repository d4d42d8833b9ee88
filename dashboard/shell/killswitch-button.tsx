// The killswitch button, on every page; while engaged it opens the killswitch's state.

import { useState } from "preact/hooks";
import { Icon } from "../parts/icon.tsx";
import { killswitch } from "../state/board.ts";
import { EngageDialog } from "./killswitch-dialog.tsx";

export const KillswitchButton = () => {
  const [isOpen, setOpen] = useState(false);
  const level = killswitch.value?.level ?? 0;
  return (
    <>
      <button type="button" class={`button killswitch${level > 0 ? " engaged" : ""}`} onClick={() => setOpen(true)}>
        <Icon name="lever" />
        <span>Killswitch</span>
        {level > 0 && <span class="killswitch-level">level {level}</span>}
      </button>
      {isOpen && <EngageDialog onClose={() => setOpen(false)} />}
    </>
  );
};
