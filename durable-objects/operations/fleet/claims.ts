// Claims: a worker asks for jobs, alone or with a result, and learns why there are none for it.

import type { ClaimAnswer, CompleteAndClaimAnswer } from "../../../contract/fleet/worker.ts";
import type { Member } from "../../../domain/fleet/fleet.ts";
import { firstRefusal } from "../../../domain/routing/filters.ts";
import { haltReason } from "../../../domain/words/halt-reason.ts";
import type { Json } from "../../../domain/words/json.ts";
import { notFound, type Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import { assignWaiting } from "../../placing/assign-waiting.ts";
import { routePolicy } from "../../placing/route-policy.ts";
import { handOut } from "../../steps/leases.ts";
import { claimedTasks } from "../../steps/model-tasks.ts";
import type { Spent } from "../../steps/pricing.ts";
import type { Turn } from "../../turn/turn.ts";
import { complete } from "./final-report.ts";
import { mayActAs } from "./presence.ts";
import { type LeaseReport, present } from "./report.ts";

/**
 * Leases for up to `max` jobs that were not sent before; if there are none, why the waiting jobs are not for this
 * worker.
 */
export const claim = (
  turn: Turn,
  request: { instance: string; max: number; isWaiting: boolean },
): Result<ClaimAnswer, Refusal> => {
  const member = turn.memory.fleet.get(request.instance);
  if (member === undefined)
    return err({ ...notFound("worker", request.instance), hint: ": it registers with POST /presence" });
  const allowed = mayActAs(turn, request.instance);
  if (!allowed.ok) return allowed;
  turn.memory.fleet.noteSeen(request.instance, turn.nowAt);
  // The first claim has stopped waiting and asks again; other claims of the worker may still wait.
  if (request.isWaiting) turn.memory.fleet.noteReach(request.instance, { isClaiming: true });
  return ok(takeLeases(turn, member, request));
};

const takeLeases = (
  turn: Turn,
  member: Member,
  { max, isWaiting }: { max: number; isWaiting: boolean },
): ClaimAnswer => {
  const { instance } = member.worker;
  noteClaimant(turn, member);
  turn.freedWorkers.add(instance);
  assignWaiting(turn);
  const jobs = handOut(turn, member, max);
  const model_tasks = claimedTasks(turn, instance, isWaiting);
  return { jobs, skipped: jobs.length > 0 ? {} : skippedBy(turn, member), model_tasks };
};

/** A result and the worker's next leases in one turn. A repeated result gets the first answer again. */
export const completeAndClaim = (
  turn: Turn,
  request: LeaseReport & { result: Json; max: number } & Spent,
): Result<CompleteAndClaimAnswer, Refusal> => {
  const done = complete(turn, request);
  if (!done.ok) return done;
  const member = turn.memory.fleet.get(done.value.assignedWorker);
  const isOwn = member !== undefined && mayActAs(turn, member.worker.instance).ok;
  const asked = { max: request.max, isWaiting: false };
  const claimed = isOwn ? takeLeases(turn, member, asked) : { jobs: [], skipped: {}, model_tasks: [] };
  return ok({ job: present(turn, request, done.value), ...claimed });
};

/** A claim is a sign of life, and brings jobs to a worker without a socket. */
const noteClaimant = (turn: Turn, { worker, isConnected, isLockedOut }: Member): void => {
  const { keyId } = turn.caller;
  // Another key's socket does not get its jobs.
  const viaSocket = worker.viaSocket && isConnected && keyId === worker.keyId;
  if (isLockedOut) turn.memory.fleet.noteReach(worker.instance, { isLockedOut: false });
  if (viaSocket !== worker.viaSocket || keyId !== worker.keyId) turn.putWorker({ ...worker, viaSocket, keyId });
};

/** How many reasons one answer gives for an idle worker: the most frequent ones. */
export const MAX_SKIPPED_REASONS = 100;
/** Of more groups, those that have waited longest are examined: an idle claim costs the same however many wait. */
const MAX_EXAMINED_GROUPS = 1_000;
/** Of groups with many tags fewer are examined: an idle claim costs the same whatever they ask for. */
export const MAX_EXAMINED_TAGS = 3_000;

const skippedBy = (turn: Turn, member: Member): Record<string, number> => {
  const { fleet, queue, killswitch } = turn.memory;
  const skipped = new Map<string, number>();
  if (killswitch.level > 0) return { [haltReason(killswitch.level)]: queue.count };
  const policy = routePolicy(turn);
  let [groups, tags] = [0, 0];
  for (const group of queue.groups.values()) {
    groups += 1;
    tags += group.requirements.tags.length;
    if (groups > MAX_EXAMINED_GROUPS || tags > MAX_EXAMINED_TAGS) break;
    const reason = firstRefusal(member, group.requirements, policy, fleet);
    if (reason !== null) skipped.set(reason, (skipped.get(reason) ?? 0) + group.count);
  }
  const byCount = [...skipped].sort(([, one], [, other]) => other - one);
  return Object.fromEntries(byCount.slice(0, MAX_SKIPPED_REASONS));
};
