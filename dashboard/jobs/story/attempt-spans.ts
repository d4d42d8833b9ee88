// The times of a job's attempts: each waits in the queue, is assigned, and runs until its first token and its end. Pure.

import type { AttemptResource } from "../../../contract/jobs/insight.ts";
import type { JobEventResource, JobResource } from "../../../contract/jobs/job.ts";

const PHASES = ["held", "backoff", "queue", "assigned", "first_token", "stream", "running"] as const;
export type Phase = (typeof PHASES)[number];

export interface Span {
  readonly phase: Phase;
  readonly from: number;
  readonly to: number;
}

export interface Timed {
  readonly attempt: AttemptResource;
  readonly number: number;
  readonly spans: readonly Span[];
}

export const PHASE_NAMES: Record<Phase, string> = {
  held: "Not before",
  backoff: "Back-off",
  queue: "Queue",
  assigned: "Assigned",
  first_token: "First token",
  stream: "Stream",
  running: "Run",
};

const timeOf = (at: string | null): number | null => (at === null ? null : Date.parse(at));

/** From its start: until the first token and the stream after it, where it told of one. */
const runSpans = (startedAt: number, firstAt: number | null, endAt: number): Span[] =>
  firstAt === null
    ? [{ phase: "running", from: startedAt, to: Math.max(startedAt, endAt) }]
    : [
        { phase: "first_token", from: startedAt, to: Math.max(startedAt, firstAt) },
        { phase: "stream", from: firstAt, to: Math.max(firstAt, endAt) },
      ];

const leaseSpans = (attempt: AttemptResource, nowAt: number): Span[] => {
  const assigned = Date.parse(attempt.assigned_at);
  const end = timeOf(attempt.finished_at) ?? nowAt;
  const started = timeOf(attempt.started_at);
  return [
    { phase: "assigned", from: assigned, to: Math.max(assigned, started ?? end) },
    ...(started === null ? [] : runSpans(started, timeOf(attempt.first_token_at), end)),
  ];
};

/** What it waited for until `to`: first for an instant, then for a worker. */
const waitSpans = (phase: "held" | "backoff", from: number, until: number | null, to: number): Span[] => {
  const turn = Math.min(Math.max(from, until ?? from), Math.max(from, to));
  const waits: Span[] = [
    { phase, from, to: turn },
    { phase: "queue", from: turn, to: Math.max(turn, to) },
  ];
  return waits.filter((span) => span.phase === "queue" || span.to > span.from);
};

const delayIn = ({ detail }: JobEventResource): number =>
  typeof detail === "object" && detail !== null && "delay_ms" in detail ? Number(detail.delay_ms) || 0 : 0;

/** When the back-off after a lease is over; null if there is none. */
const backoffEnd = (events: readonly JobEventResource[], lease: number): number | null => {
  const event = events.findLast((one) => one.lease === lease && delayIn(one) > 0);
  return event === undefined ? null : Date.parse(event.at) + delayIn(event);
};

/** What it waits for now, or waited for in vain: after its last attempt, if it had one. */
export const lastWait = (
  job: JobResource,
  attempts: readonly AttemptResource[],
  events: readonly JobEventResource[],
  nowAt: number,
): readonly Span[] => {
  const last = attempts.at(-1);
  if (last === undefined) return waitSpans("held", Date.parse(job.created_at), timeOf(job.run_at), nowAt);
  if (job.status !== "pending" || last.finished_at === null) return [];
  return waitSpans("backoff", Date.parse(last.finished_at), backoffEnd(events, last.lease), nowAt);
};

/** Each attempt waits from the end of the previous one. */
export const timed = (
  job: JobResource,
  attempts: readonly AttemptResource[],
  events: readonly JobEventResource[],
  nowAt: number,
): Timed[] =>
  attempts.map((attempt, index) => {
    const before = attempts[index - 1];
    const assigned = Date.parse(attempt.assigned_at);
    const waited =
      before === undefined
        ? waitSpans("held", Math.min(Date.parse(job.created_at), assigned), timeOf(job.run_at), assigned)
        : waitSpans(
            "backoff",
            Math.min(timeOf(before.finished_at) ?? assigned, assigned),
            backoffEnd(events, before.lease),
            assigned,
          );
    return { attempt, number: index + 1, spans: [...waited, ...leaseSpans(attempt, nowAt)] };
  });

/** Null if the attempt did not come to any of these phases. */
export const msIn = (spans: readonly Span[], ...phases: readonly Phase[]): number | null => {
  const found = spans.filter(({ phase }) => phases.includes(phase));
  return found.length === 0 ? null : found.reduce((sum, { from, to }) => sum + to - from, 0);
};

export const firstTokenMs = ({ started_at, first_token_at }: AttemptResource): number | null =>
  started_at === null || first_token_at === null ? null : Date.parse(first_token_at) - Date.parse(started_at);
