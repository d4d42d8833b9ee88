// Creating, reading and changing jobs, for their owner.

import { type JobResource, presentJob } from "../../../contract/jobs/job.ts";
import { keepsResult, keptPayload } from "../../../domain/front-door/front-door.ts";
import { type Decision, isLeased, type Job } from "../../../domain/job/job.ts";
import { cancelJob, type JobPatch, patchJob, retryJob } from "../../../domain/job/job-command.ts";
import { createJob, type NewJob } from "../../../domain/job/new-job.ts";
import { permit } from "../../../domain/killswitch.ts";
import { explainClosest } from "../../../domain/routing/explanation.ts";
import type { RoutePolicy } from "../../../domain/routing/filter.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { allPass, err, ok, type Result } from "../../../domain/words/result.ts";
import { admit, admitTo, chooseFor, type WaitingReasons } from "../../placing/place-job.ts";
import { refuseBacklog, refuseGroups, refuseNewGroups, refuseWaiting } from "../../placing/room.ts";
import { routePolicy, routeRequest } from "../../placing/route-policy.ts";
import { delayReason, pendingReason, waitingReason } from "../../placing/waiting-reason.ts";
import { reserveAgain } from "../../steps/demand.ts";
import { broughtOf, findJob, type JobCommand } from "../../steps/find-job.ts";
import { inFlow } from "../../steps/flow.ts";
import {
  type Idempotency,
  keptBatch,
  keptDispatch,
  keptJob,
  type Replayable,
  withIdempotency,
} from "../../steps/idempotency.ts";
import { refuseGoneFiles } from "../../steps/job-files.ts";
import { countRequest, mayUseEdge, refuseModels, refuseOverLimits, refuseOverUse } from "../../steps/key-limits.ts";
import { isSilent } from "../../steps/last-sign.ts";
import { refuseOverBudget } from "../../steps/reached-budgets.ts";
import { allowReading } from "../../steps/reading.ts";
import { countAttempt } from "../../turn/counting.ts";
import { staleAtOf } from "../../turn/deadline.ts";
import type { Turn } from "../../turn/turn.ts";

/**
 * An open job shows all its texts; a final front-door job only those that history keeps, even while it is still here.
 */
const presentOpenJob = (turn: Turn, job: Job): JobResource => {
  const payload = turn.store.payloads.find(job.id);
  const result = turn.store.payloads.findResult(job.id);
  const reason = waitingReason(turn, job);
  if (job.api === null || !isFinal(job.status)) return presentJob(job, payload, result, reason);
  const { store } = turn.memory.config.frontDoor;
  return presentJob(job, keptPayload(store, payload), keepsResult(store) ? result : null, reason);
};

export const createOne = (
  turn: Turn,
  request: { job: NewJob; idempotency: Idempotency | null },
): Result<Replayable<JobResource>, Refusal> => {
  const create = (): Result<JobResource, Refusal> => {
    const open = refuseNewJobs(turn, [request.job]);
    return open.ok ? ok(createAndAdmit(turn, request.job)) : open;
  };
  return withIdempotency(turn, "create", request.idempotency, create, keptJob(request.job));
};

/** Checked after looking for an earlier answer: a repeated request gets its first answer, whatever applies now. */
const refuseNewJobs = (turn: Turn, asked: readonly NewJob[], inBatch = false): Result<null, Refusal> => {
  const open = allPass(
    () => permit(turn.memory.killswitch, "create"),
    () => refuseGoneFiles(turn, asked, inBatch),
    () => refuseBacklog(turn),
    () => refuseNewGroups(turn, asked),
    () =>
      refuseModels(
        turn,
        asked.map(({ model }) => model),
      ),
    () => refuseOverUse(turn, asked),
  );
  if (open.ok) countRequest(turn, true, asked);
  return open;
};

const asKeyMay = (turn: Turn, asked: NewJob): NewJob =>
  inFlow(turn, mayUseEdge(turn) ? asked : { ...asked, edge: false });

/** The job as created: pending, even if a worker gets it before the answer is sent. */
const createAndAdmit = (turn: Turn, asked: NewJob, reasons: WaitingReasons = new Map()): JobResource => {
  const created = createJob(asKeyMay(turn, asked), turn.newId(), turn.nowAt, turn.caller);
  const waitsFor = admit(turn, created, reasons);
  return presentJob(created.job, asked, null, waitsFor);
};

/** All jobs or none, in order. */
export const createMany = (
  turn: Turn,
  request: { jobs: readonly NewJob[]; idempotency: Idempotency | null },
): Result<Replayable<{ readonly jobs: JobResource[] }>, Refusal> => {
  const create = (): Result<{ jobs: JobResource[] }, Refusal> => {
    const open = refuseNewJobs(turn, request.jobs, true);
    if (!open.ok) return open;
    const reasons: WaitingReasons = new Map();
    return ok({ jobs: request.jobs.map((asked) => createAndAdmit(turn, asked, reasons)) });
  };
  return withIdempotency(turn, "batch", request.idempotency, create, keptBatch(request.jobs));
};

/** Gives the job to the best worker now. Without one it refuses and stores nothing, or queues the job: it is pending. */
export const dispatch = (
  turn: Turn,
  request: { job: NewJob; mayQueue: boolean; idempotency: Idempotency | null },
): Result<Replayable<JobResource>, Refusal> => {
  const work = (): Result<JobResource, Refusal> => {
    const open = allPass(
      () => permit(turn.memory.killswitch, "dispatch"),
      () => refuseGoneFiles(turn, [request.job]),
      () => refuseBacklog(turn),
      () => refuseOverLimits(turn, [request.job.model], [request.job], 0),
    );
    if (!open.ok) return open;
    const created = createJob(asKeyMay(turn, request.job), turn.newId(), turn.nowAt, turn.caller);
    const policy = routePolicy(turn);
    const choice = created.job.readyAt === null ? chooseFor(turn, created.job, policy) : null;
    if (choice !== null) {
      countRequest(turn, true, [request.job]);
      return ok(presentJob(admitTo(turn, created, choice), request.job));
    }
    const budget = refuseOverBudget(turn, created.job);
    if (!budget.ok) return budget;
    if (!request.mayQueue) return err(noEligibleWorkers(turn, created.job, policy));
    const room = refuseWaiting(turn, created.job);
    if (!room.ok) return room;
    countRequest(turn, true, [request.job]);
    const waitsFor = admit(turn, created, new Map(), policy);
    return ok(presentJob(created.job, request.job, null, waitsFor));
  };
  return withIdempotency(turn, "dispatch", request.idempotency, work, keptDispatch(request.job));
};

const MAX_EXPLAINED_WORKERS = 200;

const noEligibleWorkers = (turn: Turn, job: Job, policy: RoutePolicy): Refusal => {
  const closest = explainClosest(turn.memory.fleet, routeRequest(turn, job), policy, MAX_EXPLAINED_WORKERS);
  const delay = delayReason(turn, job);
  return {
    code: "no_eligible_workers",
    detail: pendingReason(turn, job, policy),
    workers:
      delay === null ? closest : closest.map((one) => ({ ...one, eligible: false, reasons: [...one.reasons, delay] })),
  };
};

export const getJob = (turn: Turn, request: JobCommand): Result<JobResource, Refusal> => {
  const found = findJob(turn, request);
  if (!found.ok) return found;
  const allowed = allowReading(turn, found.value);
  if (!allowed.ok) return allowed;
  const brought = broughtOf(turn, request);
  return ok(
    brought === undefined ? presentOpenJob(turn, found.value) : presentJob(found.value, brought, brought.result),
  );
};

const LEFT_OUT = { prompt: "", input: null };

/**
 * The live state of those given jobs that are open, to overlay a page from history. Long values are left out; history
 * has them.
 */
export const presentOpenJobs = (turn: Turn, request: { ids: readonly string[] }): Result<JobResource[], Refusal> =>
  ok(turn.store.jobs.findMany(request.ids).map(({ job }) => presentJob(job, LEFT_OUT, null, waitingReason(turn, job))));

/** Stores the outcome of a command; a job that had left comes back with its payload. */
const recordCommand = (turn: Turn, command: JobCommand, before: Job, decision: Decision): JobResource => {
  const brought = broughtOf(turn, command);
  const payload = brought && { payload: { prompt: brought.prompt, input: brought.input } };
  turn.record(before, { ...decision, ...payload });
  return presentOpenJob(turn, decision.job);
};

/** A change may move a job into a group of its own. */
const refuseGroupOf = (turn: Turn, { status, groupKey }: Job): Result<null, Refusal> =>
  status === "pending" ? refuseGroups(turn, [groupKey]) : ok(null);

export const patch = (turn: Turn, command: JobCommand & { patch: JobPatch }): Result<JobResource, Refusal> => {
  const found = findJob(turn, command);
  if (!found.ok) return found;
  const job = found.value;
  const decided = patchJob(job, command.patch, turn.nowAt);
  if (!decided.ok) return decided;
  const grouped = refuseGroupOf(turn, decided.value.job);
  return grouped.ok ? ok(recordCommand(turn, command, job, decided.value)) : grouped;
};

export const cancel = (turn: Turn, command: JobCommand): Result<JobResource, Refusal> => {
  const found = findJob(turn, command);
  if (!found.ok) return found;
  const job = found.value;
  const allowed = allowReading(turn, job);
  if (!allowed.ok) return allowed;
  const decided = cancelJob(job, turn.nowAt);
  if (!decided.ok) return decided;
  turn.sendHalt(job, "cancelled");
  return ok(recordCommand(turn, command, job, decided.value));
};

export const retry = (turn: Turn, command: JobCommand): Result<JobResource, Refusal> => {
  const found = findJob(turn, command);
  if (!found.ok) return found;
  const job = found.value;
  if (isWithoutTexts(turn, command, job)) return err({ code: "texts_gone", id: job.id });
  const decided = retryJob(mayUseEdge(turn) ? job : { ...job, edge: false }, isStuck(turn, job), turn.nowAt);
  if (!decided.ok) return decided;
  // It runs once more: the caller's limits hold as for a new job. One that is stuck counts as open already.
  const asked = isFinal(job.status) ? [{ prompt: "", input: null, fairnessKey: job.fairnessKey }] : [];
  const limited = refuseOverLimits(turn, [job.requestedModel ?? job.model, job.model], asked);
  if (!limited.ok) return limited;
  const grouped = refuseGroupOf(turn, decided.value.job);
  if (!grouped.ok) return grouped;
  turn.sendHalt(job, "retried");
  if (job.status === "running")
    countAttempt(turn.memory, job, { outcome: "failed", errorCode: "worker_lost" }, turn.nowAt);
  const retried = recordCommand(turn, command, job, decided.value);
  reserveAgain(turn, job);
  countRequest(turn, asked.length > 0, asked);
  return ok(retried);
};

/** Every ordinary job begins with a prompt. One that was changed after retention is here, or in history, with an empty one. */
const isWithoutTexts = (turn: Turn, command: JobCommand, { id, api }: Job): boolean => {
  const brought = broughtOf(turn, command);
  if (brought?.isWithoutTexts === true) return true;
  return api === null && (brought ?? turn.store.payloads.findStart(id, 1))?.prompt === "";
};

const isStuck = (turn: Turn, job: Job): boolean => {
  if (!isLeased(job) || job.assignedWorker === null) return false;
  const staleAt = staleAtOf(job, turn.memory);
  if (staleAt !== null && staleAt <= turn.nowAt) return true;
  const member = turn.memory.fleet.get(job.assignedWorker);
  return member === undefined || isSilent(turn, member);
};
