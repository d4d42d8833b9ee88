// A tenant moves to another deployment, or from one. A tenant that has left answers every request with its new address;
// one that is still arriving serves nobody. In between nothing changes, so that its rows can be copied in parts.

import type { Refusal } from "../../domain/refusal.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { activate, deactivate } from "./killswitch.ts";
import type { Turn } from "./turn.ts";

/** Instead of an address: not all of the tenant's rows have arrived. */
export const ARRIVING = "";

/** What the operator's command copies. */
export interface Departure {
  readonly schema: number;
  readonly tables: readonly string[];
}

/** Running work goes back to the queue, and no new work is created. */
const HALT_LEVEL = 3;
const REASON = "the tenant moves to ";

/** Why the tenant is not served here; null if it is. */
export const movedRefusal = (movedTo: string | null): Refusal | null => {
  if (movedTo === ARRIVING) return { code: "tenant_unavailable", retryAfterSeconds: 5 };
  return movedTo === null ? null : { code: "tenant_moved", to: movedTo };
};

/** Halts the tenant and refuses everything from now on. Repeating it changes nothing. */
export const leave = (turn: Turn, to: string): Result<null, Refusal> => {
  const { movedTo, killswitch } = turn.memory;
  if (movedTo !== null && movedTo !== to) return err({ code: "tenant_moved", to: movedTo });
  if (movedTo === to) return ok(null);
  if (killswitch.level < HALT_LEVEL) activate(turn, { level: HALT_LEVEL, reason: `${REASON}${to}` });
  turn.audit("tenant.left", to);
  putMovedTo(turn, to);
  return ok(null);
};

/** The move is cancelled: the tenant is served here again. */
export const stay = (turn: Turn): Result<null, Refusal> => {
  const { movedTo } = turn.memory;
  if (movedTo === null) return ok(null);
  putMovedTo(turn, null);
  endHalt(turn);
  turn.audit("tenant.stayed", movedTo);
  return ok(null);
};

/** All rows have arrived: the tenant is served, and the halt for its move ends. */
export const settleIn = (turn: Turn): Result<null, Refusal> => {
  putMovedTo(turn, null);
  endHalt(turn);
  turn.audit("tenant.arrived", "");
  return ok(null);
};

/** A halt that was engaged for another reason stays. */
const endHalt = (turn: Turn): void => {
  if (turn.memory.killswitch.reason?.startsWith(REASON) === true) deactivate(turn, { resumeAll: true });
};

const putMovedTo = (turn: Turn, to: string | null): void => {
  turn.memory.movedTo = to;
  turn.store.settings.putMovedTo(to);
};
