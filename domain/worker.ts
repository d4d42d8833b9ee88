// Workers: what they offer, whether they are alive, and when one is kept from new jobs. Liveness is derived from
// the last sign of life at the moment of asking; nothing flips a flag when a worker falls silent.

import type { Api } from "./api.ts";
import type { Tier } from "./requirements.ts";

export const WORKER_STATUSES = ["offline", "busy", "idle", "online"] as const;
export type WorkerStatus = (typeof WORKER_STATUSES)[number];

export const MAX_CONCURRENCY = 1000;

/** What a worker says of itself; `jobs` lists what it works on, null where it does not say. */
export interface PresenceReport {
  readonly instance: string;
  readonly provider: string;
  readonly tagList: string;
  readonly tags: readonly string[];
  readonly models: readonly string[] | null;
  readonly tier: Tier | null;
  readonly version: string | null;
  readonly concurrency: number;
  /** Why it can take nothing now; null while it can. */
  readonly unavailable: string | null;
  /** The APIs of AI clients that it answers in their own dialect. */
  readonly apis: readonly Api[];
  /** What its runtime lists now; null where it does not say. Informs, never filters. */
  readonly runtimeModels: readonly string[] | null;
  readonly jobs: readonly string[] | null;
}

export interface Pause {
  readonly reason: string;
  readonly untilAt: number | null;
}

export interface Outcome {
  readonly jobId: string;
  readonly outcome: "completed" | "failed";
  readonly code: string | null;
  /** Its runtime refused what a client of the front door asked for, in the runtime's own words. */
  readonly isClientsFault?: boolean;
  readonly at: number;
}

export interface Worker {
  readonly instance: string;
  readonly provider: string;
  readonly tagList: string;
  readonly tags: readonly string[];
  readonly models: readonly string[] | null;
  readonly tier: Tier | null;
  readonly version: string | null;
  readonly concurrency: number;
  /** Why it says that it can take nothing now, e.g. that its runtime does not answer. */
  readonly unavailable: string | null;
  readonly apis: readonly Api[];
  readonly runtimeModels: readonly string[] | null;
  /** It last spoke over its socket, so while none is open it would not hear of a job. */
  readonly viaSocket: boolean;
  /** The key that last spoke for it. */
  readonly keyId: string | null;
  readonly registeredAt: number;
  /** The last sign of life that was stored; the live one may be younger. */
  readonly lastHeartbeatAt: number;
  /** By hand, or for misbehaving; kept across the worker's restarts and the killswitch. */
  readonly pause: Pause | null;
  /** Paused by the killswitch: worked out from the epochs when the object wakes and when they change. */
  readonly isHalted: boolean;
  /** The killswitch's epoch after which it was resumed, or registered. */
  readonly resumedEpoch: number;
  /** The killswitch activation that this worker has acknowledged last. */
  readonly confirmedHalt: number;
  /** One a job, newest first, at most RECENT_OUTCOMES. */
  readonly outcomes: readonly Outcome[];
  /** Looks in a row that found leases which it had let expire unstarted. */
  readonly expiredLeases: number;
  /** Rests in a row, for failing or for starting nothing, since it last did what it was given. */
  readonly rests: number;
}

/** The built-in runtime for first tries, and the one model that it offers. */
export const ECHO = "echo";

/** A worker as it stands at one instant. */
export interface WorkerView {
  readonly worker: Worker;
  readonly status: WorkerStatus;
  readonly load: number;
  readonly pauseReason: string | null;
  readonly lastSeenAt: number;
  readonly connected: boolean;
  /** Whether it has acknowledged the halt; null while nothing is halted. */
  readonly haltConfirmed: boolean | null;
}

export const RECENT_OUTCOMES = 20;
const FAILURES_TO_PAUSE = 10;
const FAILURE_WINDOW_MS = 60_000;
const EXPIRED_LEASES_TO_PAUSE = 5;
const FIRST_REST_MS = 60_000;
const LONGEST_REST_MS = 30 * 60_000;

/** Failures that say something about the job or the provider, not about the worker. */
const BLAMELESS_CODES = new Set([
  "bad_request",
  "context_length",
  "rate_limited",
  "quota_exhausted",
  "insufficient_quota",
]);

export const registerWorker = (
  report: PresenceReport,
  known: Worker | null,
  from: { keyId: string | null; viaSocket: boolean },
  nowAt: number,
): Worker => ({
  registeredAt: nowAt,
  pause: null,
  isHalted: false,
  resumedEpoch: 0,
  confirmedHalt: 0,
  outcomes: [],
  expiredLeases: 0,
  rests: 0,
  ...known,
  instance: report.instance,
  provider: report.provider,
  tagList: report.tagList,
  tags: report.tags,
  models: modelsOf(report),
  tier: report.tier,
  version: report.version,
  concurrency: report.concurrency,
  unavailable: report.unavailable,
  apis: report.apis,
  runtimeModels: report.runtimeModels,
  keyId: from.keyId,
  viaSocket: from.viaSocket,
  lastHeartbeatAt: nowAt,
});

/** Any other worker that names no models takes any. */
const modelsOf = ({ provider, models }: PresenceReport): readonly string[] | null =>
  provider === ECHO && models === null ? [ECHO] : models;

/** Whether a report brings nothing that routing or a reader would see differently. */
export const isSameOffer = (worker: Worker, report: PresenceReport): boolean =>
  worker.provider === report.provider &&
  worker.tagList === report.tagList &&
  worker.concurrency === report.concurrency &&
  worker.tier === report.tier &&
  worker.version === report.version &&
  worker.unavailable === report.unavailable &&
  isSameList(worker.models, modelsOf(report)) &&
  isSameList(worker.apis, report.apis) &&
  isSameList(worker.runtimeModels, report.runtimeModels);

const isSameList = (one: readonly string[] | null, other: readonly string[] | null): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

export const isOffline = (lastSeenAt: number, offlineAfterMs: number, nowAt: number): boolean =>
  nowAt - lastSeenAt > offlineAfterMs;

export const statusOf = (
  worker: Worker,
  load: number,
  lastSeenAt: number,
  offlineAfterMs: number,
  nowAt: number,
): WorkerStatus => {
  if (isOffline(lastSeenAt, offlineAfterMs, nowAt)) return "offline";
  if (load >= worker.concurrency) return "busy";
  return load === 0 ? "idle" : "online";
};

/** It outlasts the killswitch until somebody resumes the worker, so it says how. */
export const haltReasonOf = ({ instance }: Pick<Worker, "instance">): string =>
  `killswitch; once that is cleared, resume it: POST /api/workers/${instance}/resume, or all with DELETE /killswitch?resume_all=true`;

/** Why a worker takes no new jobs, in words for its operator; null while it does. */
export const pauseReasonOf = (worker: Worker, nowAt: number): string | null => {
  if (worker.pause !== null && (worker.pause.untilAt === null || nowAt < worker.pause.untilAt))
    return worker.pause.reason;
  return worker.isHalted ? haltReasonOf(worker) : null;
};

export const pauseWorker = (worker: Worker, reason: string | null, untilAt: number | null): Worker => ({
  ...worker,
  pause: { reason: reason ?? "paused by an operator", untilAt },
});

/** Active again, with a clean slate: what it was paused for does not count again. */
export const resumeWorker = (worker: Worker): Worker => ({
  ...worker,
  pause: null,
  isHalted: false,
  expiredLeases: 0,
  rests: 0,
  outcomes: worker.outcomes.filter((one) => one.outcome === "completed"),
});

/**
 * Remembers how a job ended on a worker, and lets one rest that fails job after job. A job counts once, by its last
 * attempt: one bad job that is tried again and again says little about the worker.
 */
export const recordOutcome = (worker: Worker, outcome: Outcome): Worker => {
  const others = worker.outcomes.filter(({ jobId }) => jobId !== outcome.jobId);
  const outcomes = [outcome, ...others].slice(0, RECENT_OUTCOMES);
  const next = { ...worker, outcomes, expiredLeases: 0 };
  if (outcome.outcome === "completed") return { ...next, rests: 0 };
  if (isBlameless(outcome) || !(worker.rests > 0 || isFailingInARow(outcomes, outcome.at))) return next;
  const what =
    worker.rests > 0
      ? "failed again after its rest"
      : `failed ${FAILURES_TO_PAUSE} jobs in a row within ${FAILURE_WINDOW_MS / 1000} s`;
  return rested(next, `${what}, the last with "${outcome.code}"`, outcome.at);
};

export const isBlameless = ({ code, isClientsFault = false }: Outcome): boolean =>
  isClientsFault || BLAMELESS_CODES.has(code ?? "");

const isFailingInARow = (outcomes: readonly Outcome[], nowAt: number): boolean => {
  const last = outcomes.slice(0, FAILURES_TO_PAUSE);
  return (
    last.length === FAILURES_TO_PAUSE &&
    last.every((one) => one.outcome === "failed" && !isBlameless(one) && nowAt - one.at <= FAILURE_WINDOW_MS)
  );
};

/** Counts that leases expired unstarted, and lets a worker rest that takes leases and never starts them. */
export const recordExpiredLease = (worker: Worker, nowAt: number): Worker => {
  const next = { ...worker, expiredLeases: worker.expiredLeases + 1 };
  if (worker.rests === 0 && next.expiredLeases < EXPIRED_LEASES_TO_PAUSE) return next;
  const what =
    worker.rests > 0
      ? "let leases expire again after its rest"
      : `let leases expire ${next.expiredLeases} times in a row`;
  return rested(next, `${what} without starting them`, nowAt);
};

/** Paused until a rest is over that doubles each time; what an operator has paused stays as it is. */
const rested = (worker: Worker, why: string, nowAt: number): Worker => {
  if (worker.pause !== null && (worker.pause.untilAt === null || worker.pause.untilAt > nowAt)) return worker;
  const untilAt = nowAt + Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** worker.rests);
  const reason =
    `${why}; it rests until ${new Date(untilAt).toISOString()}, then it is tried again ` +
    `(at once: POST /api/workers/${worker.instance}/resume)`;
  return { ...worker, rests: worker.rests + 1, pause: { reason, untilAt } };
};

/** Share of recent jobs that went well, in [0,1]; a worker without a record counts as a good one. */
export const successRateOf = (worker: Worker): number => {
  const counted = worker.outcomes.filter((one) => !isBlameless(one));
  const completed = counted.filter((one) => one.outcome === "completed").length;
  return (completed + 2) / (counted.length + 2);
};
