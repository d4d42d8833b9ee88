// A tenant leaves for another deployment, or arrives from one. Who has left says where to, to everybody; who has not
// wholly arrived serves nobody. In between nothing of it changes, so that its rows can be carried over in parts.

import type { Refusal } from "../../domain/refusal.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { activate, deactivate } from "./killswitch.ts";
import type { Turn } from "./turn.ts";

/** In place of an address: not all of the tenant's rows are here yet. */
export const ARRIVING = "";

/** What the operator's command carries over. */
export interface Departure {
  readonly schema: number;
  readonly tables: readonly string[];
}

/** Running work goes back to the queue, and nobody makes new work. */
const HALT_LEVEL = 3;
const REASON = "the tenant moves to ";

/** Why nobody is served here; null where everybody is. */
export const movedRefusal = (movedTo: string | null): Refusal | null => {
  if (movedTo === ARRIVING) return { code: "tenant_unavailable", retryAfterSeconds: 5 };
  return movedTo === null ? null : { code: "tenant_moved", to: movedTo };
};

/** Halts the tenant and refuses everything from now on. Doing it again changes nothing. */
export const leave = (turn: Turn, to: string): Result<null, Refusal> => {
  const { movedTo, killswitch } = turn.memory;
  if (movedTo !== null && movedTo !== to) return err({ code: "tenant_moved", to: movedTo });
  if (movedTo === to) return ok(null);
  if (killswitch.level < HALT_LEVEL) activate(turn, { level: HALT_LEVEL, reason: `${REASON}${to}` });
  turn.audit("tenant.left", to);
  putMovedTo(turn, to);
  return ok(null);
};

/** The move is given up: the tenant is served here again. */
export const stay = (turn: Turn): Result<null, Refusal> => {
  const { movedTo } = turn.memory;
  if (movedTo === null) return ok(null);
  putMovedTo(turn, null);
  endHalt(turn);
  turn.audit("tenant.stayed", movedTo);
  return ok(null);
};

/** All rows are here: the tenant is served, and the halt of its move is over. */
export const settleIn = (turn: Turn): Result<null, Refusal> => {
  putMovedTo(turn, null);
  endHalt(turn);
  turn.audit("tenant.arrived", "");
  return ok(null);
};

/** A halt that somebody else called stays. */
const endHalt = (turn: Turn): void => {
  if (turn.memory.killswitch.reason?.startsWith(REASON) === true) deactivate(turn, { resumeAll: true });
};

const putMovedTo = (turn: Turn, to: string | null): void => {
  turn.memory.movedTo = to;
  turn.store.settings.putMovedTo(to);
};
