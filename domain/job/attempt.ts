// A job's attempts, read from its timeline: one for each lease, from its assignment to the event that ended it, with
// its recorded cost.

import type { JobEvent, JobEventType } from "../words/event.ts";
import { hasFields } from "../words/json.ts";
import { RATE_LIMIT_ERROR } from "./failure.ts";
import type { CacheWrites, JobError, Usage } from "./job.ts";

/** What a worker reported about an attempt's usage and cost. */
export interface AttemptSpending {
  readonly lease: number;
  readonly provider: string;
  readonly model: string | null;
  /** Null if none was reported. */
  readonly usage: Usage | null;
  readonly costNanoUsd: number | null;
  readonly source: string;
}

/** Counts of tokens as history and the outbox keep them: without null, so that no tokens mean that none were told. */
export const usageOfCounts = (counts: Required<Omit<Usage, keyof CacheWrites>>): Usage | null => {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = counts;
  if (inputTokens + outputTokens === 0) return null;
  return {
    inputTokens,
    outputTokens,
    ...(cachedInputTokens > 0 ? { cachedInputTokens } : {}),
    ...(reasoningTokens > 0 ? { reasoningTokens } : {}),
  };
};

export interface Attempt {
  readonly lease: number;
  readonly worker: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly assignedAt: number;
  readonly startedAt: number | null;
  readonly firstTokenAt: number | null;
  readonly finishedAt: number | null;
  /** The event that ended it, without `job.`; null while it runs. */
  readonly outcome: string | null;
  readonly error: JobError | null;
  readonly spending: AttemptSpending | null;
}

type EventRole = "opens" | "starts" | "streams" | "ends" | "none";

/** What an event means for the attempt of its lease. */
const ROLE_OF: Readonly<Record<JobEventType, EventRole>> = {
  "job.created": "none",
  "job.updated": "none",
  "job.assigned": "opens",
  "job.accept_expired": "ends",
  "job.started": "starts",
  "job.streaming": "streams",
  "job.completed": "ends",
  "job.failed": "ends",
  "job.cancelled": "ends",
  "job.released": "ends",
  "job.lost": "ends",
  "job.retried": "ends",
  "job.reaped": "ends",
  "job.timed_out": "ends",
  "job.halted": "ends",
  "job.attempt_failed": "ends",
  "job.rate_limited": "ends",
  "job.fell_back": "ends",
};

/** Whether the event ends the attempt of its lease. */
export const endsAttempt = (type: JobEventType): boolean => ROLE_OF[type] === "ends";

/** Ends reported by the worker: the attempt ran, even if its start was never reported. */
const REPORTED: ReadonlySet<JobEventType> = new Set([
  "job.completed",
  "job.failed",
  "job.attempt_failed",
  "job.rate_limited",
  "job.fell_back",
]);

type TimelineEvent = Omit<JobEvent, "jobId">;

/** The next model of a list took the job; no other event has `to`. */
const changesModel = ({ detail }: TimelineEvent): boolean => textIn(detail, "to") !== null;

/** Oldest first, like `timeline`. `askedModel` is the job's own, at its end. */
export const attemptsOf = (
  timeline: readonly TimelineEvent[],
  spendings: readonly AttemptSpending[],
  askedModel: string | null,
): Attempt[] => {
  const byLease = new Map<number, Attempt>();
  let model = textIn(timeline.find(changesModel)?.detail, "from") ?? askedModel;
  for (const event of timeline) {
    const known = byLease.get(event.lease);
    const next = ROLE_OF[event.type] === "opens" ? opened(event, model) : known && advanced(known, event);
    if (next !== undefined) byLease.set(event.lease, next);
    if (changesModel(event)) model = textIn(event.detail, "to");
  }
  for (const spending of spendings) {
    const known = byLease.get(spending.lease);
    if (known === undefined) continue;
    const { provider, model } = spending;
    byLease.set(spending.lease, { ...known, provider, model: model ?? known.model, spending });
  }
  return [...byLease.values()];
};

const opened = ({ lease, worker, at, detail }: TimelineEvent, model: string | null): Attempt => ({
  lease,
  worker,
  provider: textIn(detail, "provider"),
  model,
  assignedAt: at,
  startedAt: null,
  firstTokenAt: null,
  finishedAt: null,
  outcome: null,
  error: null,
  spending: null,
});

const advanced = (attempt: Attempt, event: TimelineEvent): Attempt => {
  // Later events do not belong to it: a cancelled job may have had other leases.
  if (attempt.outcome !== null) return attempt;
  const part = ROLE_OF[event.type];
  if (part === "starts") return { ...attempt, startedAt: event.at };
  if (part === "streams") return { ...attempt, firstTokenAt: event.at };
  if (part !== "ends") return attempt;
  const startedAt = attempt.startedAt ?? (REPORTED.has(event.type) ? event.at : null);
  const outcome = event.type.slice("job.".length);
  return { ...attempt, startedAt, finishedAt: event.at, outcome, error: errorOf(event) };
};

/** The error of an ending event, from its detail or its type. */
const errorOf = ({ type, detail }: TimelineEvent): JobError | null => {
  if (type === "job.rate_limited") return RATE_LIMIT_ERROR;
  const told = fieldOf(detail, "error") ?? detail;
  return textIn(told, "code") === null ? null : (told as JobError);
};

const fieldOf = (value: unknown, name: string): unknown => (hasFields(value) ? value[name] : undefined);

const textIn = (detail: unknown, name: string): string | null => {
  const value = fieldOf(detail, name);
  return typeof value === "string" ? value : null;
};
