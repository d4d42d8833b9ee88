// The operator's end of a halt. A budget that is reached engages the killswitch again in the same turn.

import type { KillswitchResource } from "../../../contract/killswitch.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import type { Result } from "../../../domain/words/result.ts";
import type { Turn } from "../../turn/turn.ts";
import { enforceBudget } from "./budget.ts";
import { clearLevel, read } from "./killswitch.ts";

/** Returns the new state. */
export const clearKillswitch = (turn: Turn, request: { resumeAll: boolean }): Result<KillswitchResource, Refusal> => {
  clearLevel(turn, request);
  enforceBudget(turn);
  return read(turn);
};
