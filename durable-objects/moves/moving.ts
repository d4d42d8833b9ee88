// A tenant moves to another deployment, or from one (`domain/tenant/absence.ts` has the states). A tenant that is not
// served here takes no turns but these: in between nothing changes, so that its rows can be copied in parts.

import { type Absence, refuseAbsent } from "../../domain/tenant/absence.ts";
import { invalid, type Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import { enforceBudget } from "../operations/halts/budget.ts";
import { engageKillswitch, takeBack } from "../operations/halts/killswitch.ts";
import { relink } from "../operations/webhooks.ts";
import type { Turn } from "../turn/turn.ts";

/** What the operator's command copies. */
export interface Leaving {
  readonly move: string;
  readonly schema: number;
  readonly tables: readonly string[];
}

/** Running work goes back to the queue, and no new work is created. */
const HALT_LEVEL = 3;

/** Halts the tenant and refuses everything from now on. Returns the move's id. Repeating it changes nothing. */
export const leave = (turn: Turn, to: string): Result<string, Refusal> => {
  const { absence, killswitch } = turn.memory;
  if (absence !== null) return leaveAgain(absence, to);
  // Their lines lie in the objects of their files, which stay behind.
  const { size } = turn.memory.batches.open;
  if (size > 0) return err({ code: "batches_under_way", count: size });
  const move = turn.newId();
  if (killswitch.level < HALT_LEVEL) {
    turn.store.settings.putKillswitchBeforeMove(killswitch);
    engageKillswitch(turn, { level: HALT_LEVEL, reason: `the tenant moves to ${to}` });
  }
  turn.audit("tenant.left", to);
  putAbsence(turn, { state: "leaving", move, to });
  return ok(move);
};

const leaveAgain = (absence: Absence, to: string): Result<string, Refusal> => {
  if (absence.state === "arriving") return err(refuseAbsent(absence));
  return absence.to === to ? ok(absence.move) : err({ code: "tenant_moved", to: absence.to });
};

/** Everything has arrived there: callers get the new address, and the move can no longer be cancelled. */
export const endLeaving = (turn: Turn): Result<null, Refusal> => {
  const { absence } = turn.memory;
  if (absence === null)
    return err(invalid("", "this tenant is not leaving: begin with POST /admin/tenants/<tenant>/move"));
  if (absence.state === "arriving") return err(refuseAbsent(absence));
  if (absence.state === "leaving") putAbsence(turn, { ...absence, state: "left" });
  return ok(null);
};

/** The move is cancelled: the tenant is served here again. */
export const stay = (turn: Turn): Result<null, Refusal> => {
  const { absence } = turn.memory;
  if (absence === null) return ok(null);
  // The other deployment may serve it already: two would serve one tenant.
  if (absence.state !== "leaving") return err(refuseAbsent(absence));
  putAbsence(turn, null);
  endHalt(turn);
  turn.audit("tenant.stayed", absence.to);
  return ok(null);
};

/**
 * All rows have arrived: the tenant is served at `origin`, to which its webhooks' links now lead, and the halt for its
 * move ends. Repeating it changes nothing.
 */
export const settleIn = (turn: Turn, origin: string): Result<null, Refusal> => {
  const { absence } = turn.memory;
  if (absence === null) return ok(null);
  if (absence.state !== "arriving") return err(refuseAbsent(absence));
  putAbsence(turn, null);
  turn.store.files.ownTheirBytes();
  relink(turn, origin);
  turn.store.settings.putArrivedMove(absence.move);
  endHalt(turn);
  turn.audit("tenant.arrived", "");
  return ok(null);
};

/** What was halted before the move stays halted. */
const endHalt = (turn: Turn): void => {
  const { settings } = turn.store;
  const earlier = settings.killswitchBeforeMove();
  if (earlier === null) return;
  settings.putKillswitchBeforeMove(null);
  takeBack(turn, earlier);
  enforceBudget(turn);
};

const putAbsence = (turn: Turn, absence: Absence | null): void => {
  turn.memory.absence = absence;
  turn.store.settings.putAbsence(absence);
};
