// Engaging, changing and clearing the killswitch. From level 3 on a word must be typed.

import { useState } from "preact/hooks";
import type { KillswitchResource } from "../../contract/killswitch.ts";
import { printable } from "../../contract/text/printable.ts";
import { api } from "../api.ts";
import { plural } from "../format.ts";
import { Confirm } from "../parts/dialog.tsx";
import { Check, TextField } from "../parts/form.tsx";
import { counts, killswitch, workersTotal } from "../state/board.ts";
import { useDraft } from "../state/drafts.ts";
import { connection } from "../state/live.ts";
import { tell } from "../state/notice.ts";
import { CONFIRMATION, CONFIRMED_FROM, LEVELS } from "./killswitch-levels.ts";

const LeverFrame = ({ level, onChange }: { level: number; onChange: (level: number) => void }) => (
  <fieldset class="levers">
    <legend>Level: each includes the ones before</legend>
    {LEVELS.map((one) => (
      <label key={one.level} class={`lever${one.level <= level ? " lever-pulled" : ""}`}>
        <input type="radio" name="level" checked={one.level === level} onChange={() => onChange(one.level)} />
        <span class="lever-number" aria-hidden="true">
          {one.level}
        </span>
        <span>
          <strong>
            <span class="visually-hidden">Level {one.level}: </span>
            {one.name}
          </strong>
          <span class="lever-effect">{one.effect}</span>
        </span>
      </label>
    ))}
  </fieldset>
);

/** A message may have told a later state than the answer, with more confirmations, before the answer arrived. */
const showUnlessLive = (state: KillswitchResource): void => {
  if (connection.value !== "live") killswitch.value = state;
};

export const EngageDialog = ({ onClose }: { onClose: () => void }) => {
  // It follows what somebody else sets while it is open, until one chooses.
  const current = killswitch.value;
  const isActive = current?.active ?? false;
  const levelNow = isActive && current !== null ? current.level : 0;
  const [chosen, setLevel] = useState<number | null>(null);
  const level = chosen ?? Math.max(1, levelNow);
  const [written, setReason] = useDraft<string | null>("killswitch: reason", null);
  const reason = written ?? current?.reason ?? "";
  const [typed, setTyped] = useState("");
  const needsWord = level >= CONFIRMED_FROM;
  const isReady = !needsWord || typed.trim().toUpperCase() === CONFIRMATION;
  const engage = async (): Promise<void> => {
    const state = await api.killswitch.engage({ level, reason: reason.trim() });
    showUnlessLive(state);
    tell(`Killswitch engaged at level ${state.level}.`);
  };
  const running = (counts.value.running ?? 0) + (counts.value.assigned ?? 0);
  return (
    <Confirm
      title={isActive ? "Change the killswitch" : "Engage the killswitch"}
      tone="stop"
      action={`${level < levelNow ? "Lower to" : isActive ? "Set" : "Engage"} level ${level}`}
      isDestructive
      isReady={isReady}
      onConfirm={engage}
      onClose={onClose}
    >
      <p>
        Now: {plural(running, "job")} on {plural(workersTotal.value, "worker")}.{" "}
        {level >= 4 ? "They will be cancelled." : "They will go back to the queue."}
      </p>
      <LeverFrame level={level} onChange={setLevel} />
      <TextField
        label="Reason"
        hint="Everyone sees it; it is in the audit log. An emergency needs none."
        value={reason}
        onInput={setReason}
        placeholder="Why you stop the work"
      />
      {needsWord && (
        <TextField
          label={`Type ${CONFIRMATION} to confirm level ${level}`}
          value={typed}
          onInput={setTyped}
          isRequired
        />
      )}
    </Confirm>
  );
};

export const ClearDialog = ({ onClose }: { onClose: () => void }) => {
  const current = killswitch.value;
  const [resumesAll, setResumesAll] = useState(true);
  const clear = async (): Promise<void> => {
    showUnlessLive(await api.killswitch.clear({ resume_all: resumesAll }));
    tell(resumesAll ? "Killswitch cleared; workers resume." : "Killswitch cleared; workers stay paused.");
  };
  return (
    <Confirm title="Clear the killswitch" action="Clear the killswitch" onConfirm={clear} onClose={onClose}>
      {/* Somebody else may have changed it since the dialog was opened. */}
      {current?.active === true && (
        <p>
          Level {current.level} ends{current.reason ? `: “${printable(current.reason)}”` : "."}
        </p>
      )}
      <p>Dispatch, schedules and new jobs return to normal.</p>
      <Check
        label="Resume the workers it paused"
        hint="Workers that were already paused stay paused. Without this, workers are resumed on the page Fleet."
        value={resumesAll}
        onInput={setResumesAll}
      />
    </Confirm>
  );
};
