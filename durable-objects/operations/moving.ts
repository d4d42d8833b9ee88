// A tenant moves to another deployment, or from one. A tenant that has left answers every request with its new address;
// one that is still arriving serves nobody. In between nothing changes, so that its rows can be copied in parts.

import type { Refusal } from "../../domain/refusal.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { enforceBudget } from "./budget.ts";
import { activate, takeBack } from "./killswitch.ts";
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
  if (killswitch.level < HALT_LEVEL) {
    turn.store.settings.putKillswitchBeforeMove(killswitch);
    activate(turn, { level: HALT_LEVEL, reason: `the tenant moves to ${to}` });
  }
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

/** What was halted before the move stays halted. */
const endHalt = (turn: Turn): void => {
  const { settings } = turn.store;
  const earlier = settings.killswitchBeforeMove();
  if (earlier === null) return;
  settings.putKillswitchBeforeMove(null);
  takeBack(turn, earlier);
  enforceBudget(turn);
};

const putMovedTo = (turn: Turn, to: string | null): void => {
  turn.memory.movedTo = to;
  turn.store.settings.putMovedTo(to);
};
