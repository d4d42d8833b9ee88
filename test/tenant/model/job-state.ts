// What the model knows of one job, and the functions that change it: the contract's table, written a second time and
// kept small. A function returns every possible outcome; more than one only if an instant is not known.

import type { JobStatus } from "../../../domain/words/job-status.ts";

export interface JobState {
  readonly id: string;
  readonly prompt: string;
  readonly provider: string | null;
  readonly tags: readonly string[];
  readonly maxAttempts: number | null;
  readonly status: JobStatus;
  readonly lease: number;
  readonly attempts: number;
  readonly worker: string | null;
  readonly workerProvider: string | null;
  readonly settledBy: "completed" | "failed" | "released" | null;
  readonly error: string | null;
  readonly result: unknown;
  readonly releases: number;
  readonly rateLimitRetries: number;
  /** A pending job does not run before an instant within these. */
  readonly readyFrom: number;
  readonly readyUntil: number;
  /** It is certainly in the queue: nothing needs to put it there. */
  readonly isQueued: boolean;
  /** The active killswitch put it back; raised to level 4, it cancels it. */
  readonly isPutBack: boolean;
  /** The lease runs from an instant within these. */
  readonly assignedAt: number;
  readonly keptUntil: number;
  readonly startedAt: number;
  /** The last stored heartbeat is within these. */
  readonly beatFrom: number;
  readonly beatUntil: number;
}

/** The call was in progress from `fromAt` until `untilAt`. */
export interface Span {
  readonly fromAt: number;
  readonly untilAt: number;
}

export interface RateLimit {
  readonly retryAfterMs: number;
  readonly maxRetries: number;
}

export interface Outcome {
  readonly status: number;
  readonly next: JobState;
}

const ACCEPT_WITHIN_MS = 30_000;
export const STALE_AFTER_MS = 120_000;
const TIMEOUT_MS = 900_000;
/** An object that lost its memory may notice a worker's silence this much later. */
const BEAT_SLACK_MS = STALE_AFTER_MS / 120;
/** A lease that its worker lists is kept; that is stored once the stored instant is this old. */
const KEPT_STORED_AFTER_MS = ACCEPT_WITHIN_MS / 120;
const REFUSED = 409;

export const isLeased = ({ status }: JobState): boolean => status === "assigned" || status === "running";
export const isFinal = ({ status }: JobState): boolean => ["completed", "failed", "cancelled"].includes(status);
const holds = (job: JobState, lease: number): boolean => isLeased(job) && job.lease === lease;
const refused = (job: JobState): Outcome[] => [{ status: REFUSED, next: job }];
const done = (next: JobState): Outcome[] => [{ status: 200, next }];

/** Back to the queue, at once or after a delay within the given bounds. */
const requeued = (job: JobState, changes: Partial<JobState> = {}): JobState => ({
  ...job,
  status: "pending",
  worker: null,
  workerProvider: null,
  readyFrom: 0,
  readyUntil: 0,
  isQueued: (changes.readyUntil ?? 0) === 0,
  ...changes,
});

const unworked = (job: JobState): number => (job.status === "running" ? job.attempts - 1 : job.attempts);

const running = (job: JobState, { fromAt, untilAt }: Span): JobState =>
  job.status === "assigned"
    ? {
        ...job,
        status: "running",
        attempts: job.attempts + 1,
        startedAt: untilAt,
        beatFrom: fromAt,
        beatUntil: untilAt + BEAT_SLACK_MS,
      }
    : job;

export const start = (job: JobState, lease: number, span: Span): Outcome[] =>
  holds(job, lease) ? done(running(job, span)) : refused(job);

/** A heartbeat, or a presence report that names the job. */
export const beaten = (job: JobState, span: Span): JobState =>
  job.status === "assigned"
    ? running(job, span)
    : { ...job, beatFrom: span.fromAt, beatUntil: span.untilAt + BEAT_SLACK_MS };

/** A presence report names an assigned job: its worker has it and has not started it. */
export const kept = (job: JobState, { fromAt, untilAt }: Span): JobState => ({
  ...job,
  assignedAt: Math.max(job.assignedAt, fromAt - KEPT_STORED_AFTER_MS),
  keptUntil: untilAt,
});

export const heartbeat = (job: JobState, lease: number, span: Span): Outcome[] =>
  holds(job, lease) ? done(beaten(job, span)) : refused(job);

export const complete = (job: JobState, lease: number, result: unknown, span: Span): Outcome[] => {
  if (job.lease === lease && job.settledBy === "completed") return done(job);
  if (!holds(job, lease)) return refused(job);
  return done({ ...running(job, span), status: "completed", settledBy: "completed", error: null, result });
};

/** `limit` is that of the provider whose worker holds the job. */
export const fail = (job: JobState, lease: number, code: string, limit: RateLimit | null, span: Span): Outcome[] => {
  if (job.lease === lease && job.settledBy === "failed") return done(job);
  if (!holds(job, lease)) return refused(job);
  const tried = running(job, span);
  if (code !== "rate_limited" || limit === null || job.rateLimitRetries >= limit.maxRetries) {
    return done({ ...tried, status: "failed", settledBy: "failed", error: code });
  }
  const delayMs = limit.retryAfterMs * 2 ** job.rateLimitRetries;
  return done(
    requeued(tried, {
      attempts: tried.attempts - 1,
      rateLimitRetries: job.rateLimitRetries + 1,
      settledBy: "failed",
      error: code,
      readyFrom: span.fromAt + delayMs,
      readyUntil: span.untilAt + Math.ceil(delayMs * 1.25),
    }),
  );
};

export const release = (job: JobState, lease: number, { fromAt, untilAt }: Span): Outcome[] => {
  if (job.lease === lease && job.settledBy === "released") return done(job);
  if (!holds(job, lease)) return refused(job);
  const releases = job.releases + 1;
  const delayMs = releases <= 1 ? 0 : Math.min(60_000, 1_000 * 2 ** (releases - 2));
  const delay = delayMs === 0 ? {} : { readyFrom: fromAt + delayMs, readyUntil: untilAt + delayMs };
  return done(requeued(job, { attempts: unworked(job), settledBy: "released", releases, ...delay }));
};

/** Its worker no longer names it: the attempt counts. */
export const lost = (job: JobState, maxAttempts: number): JobState => ({
  ...reaped(job, maxAttempts),
  settledBy: null,
});

/** Taken back by the killswitch. */
const takenBack = (job: JobState): JobState => requeued(job, { attempts: unworked(job), settledBy: null });

export const halted = (job: JobState, level: number): JobState => {
  const isPutBack = job.status === "pending" && job.isPutBack;
  if (!isLeased(job) && !isPutBack) return job;
  if (level >= 4) return { ...job, status: "cancelled", settledBy: null };
  return isPutBack ? job : { ...takenBack(job), isPutBack: true };
};

export const cancel = (job: JobState): Outcome[] =>
  isFinal(job) ? refused(job) : done({ ...job, status: "cancelled", settledBy: null });

export const retry = (job: JobState, mayBeStuck: boolean, isSurelyStuck: boolean): Outcome[] => {
  const fresh = { attempts: 0, rateLimitRetries: 0, releases: 0, error: null, result: null, settledBy: null };
  const taken = done(requeued(job, fresh));
  if (job.status === "failed") return taken;
  if (!isLeased(job)) return refused(job);
  return [...(mayBeStuck ? taken : []), ...(isSurelyStuck ? [] : refused(job))];
};

export const patchTags = (job: JobState, tags: readonly string[]): Outcome[] =>
  job.status === "completed" ? refused(job) : done({ ...job, tags });

export const assigned = (job: JobState, worker: string, provider: string, at: number): JobState => ({
  ...job,
  status: "assigned",
  lease: job.lease + 1,
  worker,
  workerProvider: provider,
  settledBy: null,
  assignedAt: at,
  keptUntil: at,
  isQueued: false,
});

const isOver = (deadlineAt: number, nowAt: number): boolean => deadlineAt <= nowAt;

const tooLate = (job: JobState, error: string): JobState => ({ ...job, status: "failed", settledBy: null, error });

const reaped = (job: JobState, maxAttempts: number): JobState =>
  job.attempts >= (job.maxAttempts ?? maxAttempts) ? tooLate(job, "attempts_exhausted") : requeued(job);

/** What time alone may have done to a leased job by now. */
export const overtaken = (job: JobState, maxAttempts: number, nowAt: number): JobState[] => {
  if (job.status === "assigned") return isOver(job.assignedAt + ACCEPT_WITHIN_MS, nowAt) ? [requeued(job)] : [];
  if (job.status !== "running") return [];
  const isTimedOut = isOver(job.startedAt + TIMEOUT_MS, nowAt);
  const isStale = isOver(job.beatFrom + STALE_AFTER_MS, nowAt);
  return [...(isTimedOut ? [tooLate(job, "timeout")] : []), ...(isStale ? [reaped(job, maxAttempts)] : [])];
};

/** Whether the sweep must have handled the job if it ran at this instant. */
export const isOverdue = (job: JobState, nowAt: number): boolean => {
  if (job.status === "assigned") return isOver(job.keptUntil + ACCEPT_WITHIN_MS, nowAt);
  if (job.status !== "running") return false;
  return isOver(job.startedAt + TIMEOUT_MS, nowAt) || isOver(job.beatUntil + STALE_AFTER_MS, nowAt);
};

/** The job as if this much more time had passed. */
export const aged = (job: JobState, ms: number): JobState => ({
  ...job,
  readyFrom: job.readyFrom - ms,
  readyUntil: job.readyUntil - ms,
  assignedAt: job.assignedAt - ms,
  keptUntil: job.keptUntil - ms,
  startedAt: job.startedAt - ms,
  beatFrom: job.beatFrom - ms,
  beatUntil: job.beatUntil - ms,
});

export const shownStatus = ({ status, lease }: JobState): string => `${status} lease ${lease}`;
