// The times of a job's attempts: each waits in the queue, is assigned, and runs. Pure.

import type { AttemptResource } from "../../contract/insight.ts";
import type { JobResource } from "../../contract/job.ts";
import { duration } from "../format.ts";

export const PHASES = ["queue", "assigned", "running"] as const;
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

const PHASE_WORDS: Record<Phase, string> = { queue: "queued", assigned: "assigned", running: "ran" };

const spansOf = (attempt: AttemptResource, queuedAt: number, nowAt: number): Span[] => {
  const assigned = Date.parse(attempt.assigned_at);
  const end = attempt.finished_at === null ? nowAt : Date.parse(attempt.finished_at);
  const started = attempt.started_at === null ? null : Date.parse(attempt.started_at);
  const spans: Span[] = [
    { phase: "queue", from: Math.min(queuedAt, assigned), to: assigned },
    { phase: "assigned", from: assigned, to: Math.max(assigned, started ?? end) },
  ];
  if (started !== null) spans.push({ phase: "running", from: started, to: Math.max(started, end) });
  return spans;
};

/** Each attempt queues from the end of the previous one. */
export const timed = (job: JobResource, attempts: readonly AttemptResource[], nowAt: number): Timed[] => {
  let queuedAt = Date.parse(job.run_at ?? job.created_at);
  return attempts.map((attempt, index) => {
    const spans = spansOf(attempt, queuedAt, nowAt);
    queuedAt = attempt.finished_at === null ? nowAt : Date.parse(attempt.finished_at);
    return { attempt, number: index + 1, spans };
  });
};

export const inWords = (spans: readonly Span[]): string =>
  spans.map(({ phase, from, to }) => `${PHASE_WORDS[phase]} ${duration(to - from)}`).join(" → ");

/** Null if the attempt did not come to this phase. */
export const msIn = (spans: readonly Span[], phase: Phase): number | null => {
  const span = spans.find((one) => one.phase === phase);
  return span === undefined ? null : span.to - span.from;
};

export const firstTokenMs = ({ started_at, first_token_at }: AttemptResource): number | null =>
  started_at === null || first_token_at === null ? null : Date.parse(first_token_at) - Date.parse(started_at);
