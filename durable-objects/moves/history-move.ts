// A tenant's history moves to another database of its deployment, while the tenant works on: what happens meanwhile waits
// in its outbox. The edge copies the rows between the first step and the last (`src/history/history-move.ts`).
//
//   at ──begin──▶ at, to ──end──▶ to
//                   └──cancel──▶ at

import { refuseAbsent } from "../../domain/tenant/absence.ts";
import { bindingOf, type HistoryPlace, numberOf, staleMove } from "../../domain/tenant/tenant-database.ts";
import { invalid, type Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import type { Turn } from "../turn/turn.ts";

export type HistoryMove =
  /** `isNew`: it begins with the first row, and an earlier try must not go on. */
  | { readonly step: "begin"; readonly to: number; readonly isNew: boolean }
  /** `move` is the try that found a difference, or has compared everything. */
  | { readonly step: "renew" | "end"; readonly to: number; readonly move: number }
  | { readonly step: "cancel" };

/** Returns where the history is after the step. A step that is done already changes nothing. */
export const moveHistory = (turn: Turn, move: HistoryMove): Result<HistoryPlace, Refusal> => {
  const place = turn.store.settings.historyPlace();
  const { absence } = turn.memory;
  if (place.to === null) {
    if (move.step !== "begin" || place.at === move.to) return ok(place);
    if (!move.isNew) return err(staleMove);
    return absence === null
      ? ok(put(turn, { ...place, to: move.to, move: after(turn, place) }))
      : err(refuseAbsent(absence));
  }
  if (move.step === "cancel") return ok(settle(turn, place, place.at, "tenant.history_stayed"));
  if (place.to !== move.to)
    return err(invalid("database", `must be ${place.to}: its history moves there. Complete that move, or cancel it`));
  if (move.step === "begin" && !move.isNew) return ok(place);
  // A later try may have deleted what this one has compared.
  if (move.step !== "begin" && move.move !== place.move) return err(staleMove);
  if (move.step === "end") return ok(settle(turn, place, place.to, "tenant.history_moved"));
  return ok(put(turn, { ...place, move: after(turn, place) }));
};

/** Numbers of moves only grow, also for a tenant that was deleted and made again, or has come back. */
const after = (turn: Turn, { move }: HistoryPlace): number => Math.max(turn.nowAt, move + 1);

const settle = (turn: Turn, place: HistoryPlace, at: number, action: string): HistoryPlace => {
  turn.audit(action, bindingOf(at), { from: bindingOf(place.at) });
  return put(turn, { at, to: null, move: after(turn, place) });
};

const put = (turn: Turn, place: HistoryPlace): HistoryPlace => {
  turn.store.settings.putHistoryPlace(place);
  turn.memory.database = numberOf(place);
  return place;
};
