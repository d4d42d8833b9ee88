// Pauses or resumes many workers: the list is read when the action is confirmed, and refusals are reported.

import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { count, plural } from "../format.ts";
import { Confirm } from "../parts/dialog.tsx";
import { PauseReason } from "../parts/pause-reason.tsx";
import { useDraft } from "../state/drafts.ts";
import { type FleetFilter, namesThatMatch, onEach } from "../state/fleet-bulk.ts";
import { tell } from "../state/notice.ts";

export type Chosen =
  | { readonly kind: "named"; readonly instances: readonly string[] }
  | { readonly kind: "matching"; readonly filter: FleetFilter; readonly total: number };

export interface BulkAct {
  readonly verb: "pause" | "resume";
  readonly chosen: Chosen;
}

const sizeOf = (chosen: Chosen): number => (chosen.kind === "named" ? chosen.instances.length : chosen.total);

const NAMES: Record<keyof FleetFilter, string> = { q: "text", state: "state", provider: "provider", tag: "tag" };

const inWords = (chosen: Chosen): string => {
  if (chosen.kind === "named") return "The selected ones";
  const asked = Object.entries(chosen.filter).filter(([, value]) => value !== undefined);
  if (asked.length === 0) return "All workers";
  return `All with ${asked.map(([name, value]) => `${NAMES[name as keyof FleetFilter]} ${value}`).join(" and ")}`;
};

export const BulkDialog = ({
  verb,
  chosen,
  onDone,
  onClose,
}: BulkAct & { onDone: () => void; onClose: () => void }) => {
  const [reason, setReason] = useDraft("workers: reason", "");
  const [reached, setReached] = useState<number | null>(null);
  const word = verb === "pause" ? "Pause" : "Resume";
  const what = plural(sizeOf(chosen), "worker");
  const act = async (): Promise<void> => {
    const given = reason.trim() === "" ? {} : { reason: reason.trim() };
    const instances = chosen.kind === "named" ? chosen.instances : await namesThatMatch(chosen.filter);
    const { done, refused } = await onEach(
      instances,
      (instance) => (verb === "pause" ? api.workers.pause(instance, given) : api.workers.resume(instance)),
      setReached,
    );
    onDone();
    if (refused.length > 0) {
      const [first] = refused;
      throw new Error(`${count(done)} done, ${count(refused.length)} refused: ${first?.instance}: ${first?.message}`);
    }
    tell(`${plural(done, "worker")} ${verb === "pause" ? "paused" : "resumed"}.`);
  };
  return (
    <Confirm title={`${word} ${what}?`} action={`${word} ${what}`} onConfirm={act} onClose={onClose}>
      <p>
        {inWords(chosen)}. {verb === "pause" ? "They get no new jobs; running jobs continue." : "They get jobs again."}
      </p>
      {verb === "pause" && <PauseReason value={reason} onInput={setReason} />}
      {reached !== null && (
        <p role="status" class="num">
          {count(reached)} of {count(sizeOf(chosen))} …
        </p>
      )}
    </Confirm>
  );
};
