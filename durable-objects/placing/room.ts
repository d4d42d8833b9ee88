// Whether the tenant has room for more: what it may store, and how many different requirements may wait. Nobody who
// finishes or stops work is asked.

import type { Role } from "../../domain/access/key.ts";
import type { Job } from "../../domain/job/job.ts";
import { type NewJob, requirementsOfNew } from "../../domain/job/new-job.ts";
import { groupKeyOf } from "../../domain/job/queue.ts";
import { choose } from "../../domain/routing/choice.ts";
import { BYTES_A_GB } from "../../domain/tenant/storage-use.ts";
import { CLIENT_SHARE } from "../../domain/words/client-share.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import { allPass, err, ok, type Result } from "../../domain/words/result.ts";
import { refuseOverWaiting } from "../steps/key-limits.ts";
import type { StorageMemory } from "../turn/memory/storage-memory.ts";
import type { Turn } from "../turn/turn.ts";
import { routePolicy } from "./route-policy.ts";

/** Requirement groups that wait: each costs memory, and the opening of all groups looks at each. */
export const MAX_GROUPS = 10_000;
/** Of them clients may fill so many: their answers in the background may wait for ever. */
export const MAX_GROUPS_OF_CLIENTS = CLIENT_SHARE * MAX_GROUPS;
const SIZE_READ_EVERY_MS = 1_000;
const BACKLOG_RETRY_SECONDS = 10;
const GROUPS_RETRY_SECONDS = 10;

/** The size of the object's database, and of what lies in objects of their own, read from time to time. */
export const sizesOf = (turn: Turn): StorageMemory["sizes"] => {
  const { store, memory } = turn;
  const { sizes } = memory.storage;
  if (turn.nowAt - sizes.readAt >= SIZE_READ_EVERY_MS) {
    sizes.readAt = turn.nowAt;
    sizes.bytes = store.bytes();
    sizes.fileBytes = store.files.held().bytes;
    sizes.bodyBytes = store.jobs.heldBodyBytes();
  }
  return sizes;
};

/** What the tenant stores; each place where its bytes lie is a term. */
export const storedBytes = (turn: Turn): number => {
  const { bytes, fileBytes, bodyBytes } = sizesOf(turn);
  const { historyBytes, archiveBytes } = turn.memory.storage;
  return bytes + fileBytes + bodyBytes + historyBytes + archiveBytes;
};

const maxGbOf = ({ memory: { storage } }: Turn): number => storage.maxGb ?? storage.bounds.maxGb;

export const maxBytesOf = (turn: Turn): number => maxGbOf(turn) * BYTES_A_GB;

/** Why schedules and batches make no job then. */
export const STORES_ENOUGH = "the tenant stores as much as it may";

/** For operations that store more; those that finish or stop work are not asked. */
export const refuseFull = (turn: Turn): Result<null, Refusal> =>
  storedBytes(turn) <= maxBytesOf(turn) ? ok(null) : err({ code: "tenant_full", maxGb: maxGbOf(turn) });

/**
 * Above its limits the object takes no new jobs: too many wait, or history is down. No accepted job is ever dropped.
 */
export const refuseBacklog = (turn: Turn): Result<null, Refusal> =>
  sizesOf(turn).bytes <= turn.memory.storage.bounds.liveBytes
    ? ok(null)
    : err({ code: "history_backlog", retryAfterSeconds: BACKLOG_RETRY_SECONDS });

/** Whether these groups may wait, for a key of a role; those that wait already may always grow. */
export const refuseGroups = (
  turn: Turn,
  groupKeys: readonly string[],
  role: Role | undefined = turn.caller.role,
): Result<null, Refusal> => {
  const { groups } = turn.memory.queue;
  const limit = role === "client" ? MAX_GROUPS_OF_CLIENTS : MAX_GROUPS;
  if (groups.size + groupKeys.length <= limit) return ok(null);
  const opened = new Set(groupKeys.filter((key) => !groups.has(key)));
  if (opened.size === 0 || groups.size + opened.size <= limit) return ok(null);
  return err({ code: "too_many_groups", limit, retryAfterSeconds: GROUPS_RETRY_SECONDS });
};

/** Whether this job may wait, too. */
export const refuseWaiting = (turn: Turn, { groupKey }: Job): Result<null, Refusal> =>
  allPass(
    () => refuseOverWaiting(turn, 1),
    () => refuseGroups(turn, [groupKey]),
  );

/** A single job that a worker takes at once opens no group. */
export const refuseNewGroups = (turn: Turn, asked: readonly NewJob[]): Result<null, Refusal> => {
  if (turn.memory.queue.groups.size + asked.length <= MAX_GROUPS) return ok(null);
  const wanted = asked.map(requirementsOfNew);
  const refused = refuseGroups(turn, wanted.map(groupKeyOf));
  const [only, another] = asked;
  if (refused.ok || only === undefined || another !== undefined) return refused;
  const request = { ...requirementsOfNew(only), tier: only.tier, urgency: only.priority };
  const isTaken = turn.memory.killswitch.level === 0 && choose(turn.memory.fleet, request, routePolicy(turn)) !== null;
  return isTaken ? ok(null) : refused;
};
