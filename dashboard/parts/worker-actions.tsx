// Pause with a reason, resume, delete. Running jobs continue during a pause.

import { useState } from "preact/hooks";
import type { WorkerResource } from "../../contract/fleet/worker.ts";
import { HOUR_MS } from "../../contract/words/values.ts";
import { api } from "../api.ts";
import { go } from "../router.ts";
import { isHalted } from "../state/board.ts";
import { serverNow } from "../state/clock.ts";
import { useDraft } from "../state/drafts.ts";
import { attempt, tell } from "../state/notice.ts";
import { Confirm } from "./dialog.tsx";
import { ForOperators } from "./for-operators.tsx";
import { SelectField } from "./form.tsx";
import { PauseReason } from "./pause-reason.tsx";

interface WorkerProps {
  worker: WorkerResource;
  onDone?: (() => void) | undefined;
}

const UNTIL: readonly (readonly [string, string])[] = [
  ["", "until it is resumed"],
  ["1", "for an hour"],
  ["8", "for 8 hours"],
  ["24", "for a day"],
];

export const PauseDialog = ({ worker, onDone, onClose }: WorkerProps & { onClose: () => void }) => {
  const [reason, setReason] = useDraft(`worker ${worker.instance}: reason`, "");
  const [hours, setHours] = useState("");
  const pause = async (): Promise<void> => {
    const until = hours === "" ? {} : { until: new Date(serverNow() + Number(hours) * HOUR_MS).toISOString() };
    const given = reason.trim() === "" ? {} : { reason: reason.trim() };
    await api.workers.pause(worker.instance, { ...given, ...until });
    tell(`${worker.instance} is paused.`);
    onDone?.();
  };
  return (
    <Confirm title={`Pause ${worker.instance}`} action="Pause" onConfirm={pause} onClose={onClose}>
      <p>It gets no new jobs. Running jobs continue, and the pause survives restarts of the worker.</p>
      <PauseReason value={reason} onInput={setReason} />
      <SelectField label="How long" value={hours} onInput={setHours} options={UNTIL} />
    </Confirm>
  );
};

const ForgetDialog = ({ worker, onDone, onClose }: WorkerProps & { onClose: () => void }) => (
  <Confirm
    title={`Forget ${worker.instance}?`}
    action="Forget"
    isDestructive
    onConfirm={async () => {
      await api.workers.forget(worker.instance);
      tell(`${worker.instance} is forgotten.`);
      onDone?.();
      go("#/fleet");
    }}
    onClose={onClose}
  >
    <p>It is removed from the list. If it reports again, it is registered again.</p>
  </Confirm>
);

/** An offline worker that is resumed still takes nothing. */
export const resumeWorker = ({ instance, status }: WorkerResource): Promise<unknown> =>
  attempt(
    `resume ${instance}`,
    () => api.workers.resume(instance),
    status === "offline"
      ? `${instance} is resumed, and takes jobs when it is online again.`
      : `${instance} takes jobs again.`,
  );

export const WorkerActions = ({ worker, onDone, isShort = false }: WorkerProps & { isShort?: boolean }) => {
  const [open, setOpen] = useState<"pause" | "forget" | null>(null);
  const close = () => setOpen(null);
  const size = isShort ? "button small" : "button";
  const resume = async (): Promise<void> => {
    await resumeWorker(worker);
    onDone?.();
  };
  return (
    <ForOperators>
      {worker.paused ? (
        <button
          type="button"
          class={size}
          onClick={resume}
          disabled={isHalted.value}
          aria-label={`Resume ${worker.instance}`}
          title={isHalted.value ? "Clear the killswitch first" : undefined}
        >
          Resume
        </button>
      ) : (
        worker.status !== "offline" && (
          <button type="button" class={size} onClick={() => setOpen("pause")} aria-label={`Pause ${worker.instance}`}>
            Pause
          </button>
        )
      )}
      {worker.status === "offline" && (
        <button
          type="button"
          class={`${size} danger`}
          onClick={() => setOpen("forget")}
          aria-label={`Forget ${worker.instance}`}
        >
          Forget
        </button>
      )}
      {open === "pause" && <PauseDialog worker={worker} onDone={onDone} onClose={close} />}
      {open === "forget" && <ForgetDialog worker={worker} onDone={onDone} onClose={close} />}
    </ForOperators>
  );
};
