// What must not be overlooked, over every page: the killswitch is engaged; what is shown is not live.

import { useState } from "preact/hooks";
import { clock, plural } from "../format.ts";
import { killswitch, workersTotal } from "../state/board.ts";
import { connection, heardAt, reconnect } from "../state/live.ts";
import { ClearDialog, EngageDialog } from "./killswitch-dialog.tsx";
import { levelName } from "./killswitch-levels.ts";
import { Time } from "./time.tsx";

export const KillswitchBanner = () => {
  const [open, setOpen] = useState<"clear" | "change" | null>(null);
  const state = killswitch.value;
  if (state === null || !state.active) return null;
  const confirmed = Math.min(state.confirmed_workers, workersTotal.value);
  return (
    <section class="halt" aria-label="Killswitch">
      <div class="halt-says" role="alert">
        <p class="halt-title">
          Line stopped: level {state.level}, {levelName(state.level).toLowerCase()}
        </p>
        <p>
          “{state.reason}” – {state.activated_by}, <Time at={state.activated_at} />
        </p>
      </div>
      <p class="halt-count" role="status">
        <strong class="num">
          {confirmed} of {Math.max(state.paused_workers, confirmed)}
        </strong>{" "}
        workers have confirmed the halt
        <span>{plural(state.halted_jobs, "job")} halted</span>
      </p>
      <div class="actions">
        <button type="button" class="button" onClick={() => setOpen("change")}>
          Change level
        </button>
        <button type="button" class="button clear-line" onClick={() => setOpen("clear")}>
          Clear …
        </button>
      </div>
      {open === "clear" && <ClearDialog onClose={() => setOpen(null)} />}
      {open === "change" && <EngageDialog onClose={() => setOpen(null)} />}
    </section>
  );
};

export const ConnectionBanner = () => {
  if (connection.value !== "lost") return null;
  return (
    <div class="lost" role="alert">
      <p>
        <strong>Connection lost.</strong>{" "}
        {heardAt.value === null ? "Nothing has arrived yet." : `What you see is from ${clock(heardAt.value)}.`} Trying
        again by itself.
      </p>
      <button type="button" class="button small" onClick={reconnect}>
        Connect now
      </button>
    </div>
  );
};
