// Reading and replacing the tenant's configuration. A change applies from its own turn on.

import { type ConfigDocument, toConfig } from "../../contract/config/config.ts";
import type { Json } from "../../domain/words/json.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import { lookForSilence } from "../steps/silence.ts";
import { lookForWanted } from "../steps/wanted.ts";
import type { StoredConfig } from "../store/settings.ts";
import { dueAtOf } from "../turn/deadline.ts";
import { nextIdleAt } from "../turn/idleness.ts";
import type { Turn } from "../turn/turn.ts";
import { arrangeEdge } from "./fleet/edge-workers.ts";
import { greeting } from "./fleet/presence.ts";
import { forgetAbsent } from "./fleet/watch.ts";
import { enforceBudget } from "./halts/budget.ts";

export const readConfig = (turn: Turn): Result<StoredConfig, Refusal> => ok(turn.memory.storedConfig);

interface ConfigChange {
  readonly document: ConfigDocument;
  readonly etag: string;
  /** Replace only if the config has one of these tags (`*`: any); null: replace in any case. */
  readonly ifMatch: readonly string[] | null;
  /** Returns the config that would apply, and changes nothing. */
  readonly isDryRun?: boolean;
}

/** Whether history would be kept for a shorter time, which is how an admin makes room. */
export const keepsLess = (turn: Turn, { document: { history } }: ConfigChange): boolean => {
  const before = turn.memory.storedConfig.document.history;
  const isLess = (name: keyof typeof history): boolean => (history[name] ?? Infinity) < (before[name] ?? Infinity);
  return isLess("keep_days") || isLess("keep_texts_days");
};

/** Replaces the document; with `ifMatch` only if nobody else has changed it. */
export const replaceConfig = (turn: Turn, request: ConfigChange): Result<StoredConfig, Refusal> => {
  const { document, etag, ifMatch, isDryRun } = request;
  const before = turn.memory.storedConfig;
  if (ifMatch !== null && !ifMatch.includes("*") && !ifMatch.includes(before.etag)) {
    return err({ code: "etag_mismatch", current: before.etag });
  }
  const next = { etag, document };
  if (isDryRun === true) return ok(next);
  turn.store.settings.putConfig(next);
  const { heartbeatIntervalMs } = turn.memory.config.presence;
  const { reapStaleAfterMs } = turn.memory.config.jobs;
  turn.memory.storedConfig = next;
  turn.memory.config = toConfig(next.document);
  // Workers that only ping learn of a new interval by this message alone.
  const isNewPace = turn.memory.config.presence.heartbeatIntervalMs !== heartbeatIntervalMs;
  if (isNewPace) turn.effects.broadcast.push({ message: { type: "welcome", ...greeting(turn) } });
  turn.audit("config.replaced", request.etag, changedParts(before.document, next.document));
  redate(turn, turn.memory.config.jobs.reapStaleAfterMs !== reapStaleAfterMs);
  forgetAbsent(turn);
  lookForSilence(turn);
  lookForWanted(turn);
  turn.due(nextIdleAt(turn));
  turn.isAllOpened = true;
  arrangeEdge(turn);
  turn.memory.edge.lookAt = turn.memory.config.edgeAfterMs.size > 0 ? turn.nowAt : Number.POSITIVE_INFINITY;
  enforceBudget(turn);
  return ok(next);
};

/** Deadlines of current jobs follow the new settings. */
const redate = (turn: Turn, isNewThreshold: boolean): void => {
  for (const job of turn.store.jobs.allLeased()) {
    // A new threshold counts from now: under the old one heartbeats were stored at other times, or not at all.
    const counted = isNewThreshold && job.status === "running" ? { ...job, heartbeatAt: turn.nowAt } : job;
    const dueAt = dueAtOf(counted, turn.memory);
    turn.touch(counted, dueAt);
    turn.due(dueAt);
  }
};

/** Before and after of the top-level parts that differ. */
const changedParts = (before: ConfigDocument, after: ConfigDocument): Json => {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changes: Record<string, Json> = {};
  for (const name of names) {
    const [old, now] = [before, after].map((document) => (document as Record<string, Json | undefined>)[name] ?? null);
    if (JSON.stringify(old) !== JSON.stringify(now)) changes[name] = { before: old ?? null, after: now ?? null };
  }
  return changes;
};
