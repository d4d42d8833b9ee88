// Workers' reports on the jobs they hold, each checked by its lease; those that end an attempt are in `final-report.ts`.

import { type JobResource, presentJob } from "../../../contract/jobs/job.ts";
import { storeBeatAfterMs } from "../../../domain/config.ts";
import { isOffline } from "../../../domain/fleet/worker.ts";
import type { Decision, Job } from "../../../domain/job/job.ts";
import { heartbeatJob, recordFirstToken, releaseJob, startJob } from "../../../domain/job/lease.ts";
import { holds, leaseLost } from "../../../domain/job/lease-fence.ts";
import type { Json } from "../../../domain/words/json.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import { waitingReason } from "../../placing/waiting-reason.ts";
import { broughtOf, findJob, type JobCommand } from "../../steps/find-job.ts";
import { seesJobsOf } from "../../steps/reading.ts";
import type { Turn } from "../../turn/turn.ts";

/** May be repeated after its job has left the object. */
export interface LeaseReport extends JobCommand {
  readonly lease: number;
}

export const present = (turn: Turn, request: LeaseReport, job: Job): JobResource => {
  const brought = broughtOf(turn, request);
  if (brought !== undefined) return presentJob(job, brought, brought.result);
  const payload = turn.store.payloads.find(job.id);
  return presentJob(job, payload, turn.store.payloads.findResult(job.id), waitingReason(turn, job));
};

/** Adds the job to an operation's answer over HTTP; over a socket an acknowledgement is enough. */
export const presented =
  <Request extends LeaseReport>(verb: (turn: Turn, request: Request) => Result<Job, Refusal>) =>
  (turn: Turn, request: Request): Result<JobResource, Refusal> => {
    const done = verb(turn, request);
    return done.ok ? ok(present(turn, request, done.value)) : done;
  };

/** The job of a report. A key with role worker reports only on jobs of its own workers. */
export const findReported = (turn: Turn, request: LeaseReport): Result<Job, Refusal> => {
  const found = findJob(turn, request);
  if (!found.ok) return found;
  if (mayReport(turn, found.value, request.lease)) return found;
  return err({ code: "forbidden", detail: "a worker key reports only on the jobs of its own workers" });
};

/**
 * On the job's last lease only its own worker, whose repeated report is answered with the job. Who held one before learns
 * which lease the job is at, and no other key.
 */
const mayReport = (turn: Turn, job: Job, lease: number): boolean => {
  if (turn.caller.role !== "worker") return true;
  const { assignedWorker, lastWorker, avoidedWorkers } = job;
  const ended = turn.store.unreported.find(job.id, lease)?.worker ?? null;
  const held =
    job.lease === lease
      ? [assignedWorker ?? lastWorker ?? ended]
      : [assignedWorker, lastWorker, ended, ...avoidedWorkers];
  return held.some((holder) => seesJobsOf(turn, holder));
};

/** A report is a sign of life of its worker. */
export const noteSign = (turn: Turn, job: Job): void => {
  const member = turn.memory.fleet.get(job.assignedWorker);
  if (member === undefined) return;
  // A worker that had fallen silent can get jobs again.
  const { offlineAfterMs } = turn.memory.config.presence;
  if (isOffline(member.lastSeenAt, offlineAfterMs, turn.nowAt)) turn.freedWorkers.add(member.worker.instance);
  turn.memory.fleet.noteSeen(member.worker.instance, turn.nowAt);
};

/** A report that only its lease decides on; `note`: what it says besides. */
const takeReport = (
  turn: Turn,
  request: LeaseReport,
  decide: (job: Job) => Result<Decision, Refusal>,
  note: (turn: Turn, job: Job) => void = () => undefined,
): Result<Job, Refusal> => {
  const found = findReported(turn, request);
  if (!found.ok) return found;
  const job = found.value;
  const decided = decide(job);
  if (!decided.ok) return decided;
  noteSign(turn, job);
  note(turn, job);
  turn.record(job, decided.value);
  return ok(decided.value.job);
};

export const start = (turn: Turn, request: LeaseReport): Result<Job, Refusal> =>
  takeReport(turn, request, (job) => startJob(job, request.lease, turn.nowAt), noteStarted);

/** A worker that starts a job has its expired leases forgotten. */
const noteStarted = (turn: Turn, job: Job): void => {
  const worker = turn.memory.fleet.get(job.assignedWorker)?.worker;
  if (worker !== undefined && worker.expiredLeases > 0) turn.putWorker({ ...worker, expiredLeases: 0 });
};

export const heartbeat = (turn: Turn, request: LeaseReport & { progress?: Json | undefined }): Result<Job, Refusal> => {
  const storeAfterMs = storeBeatAfterMs(turn.memory.config.jobs.reapStaleAfterMs);
  const { lease, progress } = request;
  return takeReport(
    turn,
    request,
    (job) => heartbeatJob(job, lease, progress, storeAfterMs, turn.nowAt),
    (_turn, job) => turn.noteBeat(job),
  );
};

export const reportFirstToken = (turn: Turn, request: LeaseReport): Result<Job, Refusal> =>
  takeReport(turn, request, (job) => recordFirstToken(job, request.lease, turn.nowAt));

/** Checks who holds the lease, for streams and inputs. */
export const holdLease = (turn: Turn, request: LeaseReport): Result<{ instance: string }, Refusal> => {
  const found = findReported(turn, request);
  if (!found.ok) return found;
  const job = found.value;
  if (holds(job, request.lease) && job.assignedWorker !== null) return ok({ instance: job.assignedWorker });
  return err(leaseLost(job, request.lease));
};

export const release = (turn: Turn, request: LeaseReport & { reason: string }): Result<Job, Refusal> =>
  takeReport(turn, request, (job) => releaseJob(job, request.lease, request.reason, turn.nowAt));
