// Counts of a tenant's jobs for the metrics and the dashboard. Kept in memory and stored with each drain: sleep loses
// nothing, a crash loses the counts of a moment. History has the exact numbers.

import { MEASURES, type Measure, type Observation, OTHER } from "../../../domain/insight/latency.ts";
import type { Usage } from "../../../domain/job/job.ts";
import { MINUTE_MS } from "../../../domain/words/duration.ts";
import { JOB_STATUSES, type JobStatus } from "../../../domain/words/job-status.ts";
import type { ActivityMinute, Observed, ProviderTally, StoredCounters } from "../../store/settings.ts";
import { ActivitySlots } from "./activity-slots.ts";
import { Latencies } from "./latencies.ts";

const BUCKETS_SECONDS: readonly number[] = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 1800];
const BUCKETS_TOKENS_A_SECOND: readonly number[] = [1, 5, 10, 20, 50, 100, 200, 500, 1000, 5000];
const BUCKETS_OF: Readonly<Record<Measure, readonly number[]>> = {
  queueWaitMs: BUCKETS_SECONDS,
  firstTokenMs: BUCKETS_SECONDS,
  runMs: BUCKETS_SECONDS,
  tokensPerSecond: BUCKETS_TOKENS_A_SECOND,
};

export class Histogram {
  readonly observed: Observed;
  readonly #buckets: readonly number[];

  constructor(observed?: Observed, buckets: readonly number[] = BUCKETS_SECONDS) {
    this.observed = observed ?? { counts: buckets.map(() => 0), count: 0, sum: 0 };
    this.#buckets = buckets;
  }

  static of(measure: Measure, observed?: Observed): Histogram {
    return new Histogram(observed, BUCKETS_OF[measure]);
  }

  observe(value: number): void {
    const { counts } = this.observed;
    this.observed.count += 1;
    this.observed.sum += value;
    for (let index = this.#buckets.length - 1; index >= 0 && value <= (this.#buckets[index] ?? 0); index -= 1)
      counts[index] = (counts[index] ?? 0) + 1;
  }

  samples(): (readonly [string, Record<string, string>, number])[] {
    const { counts, count, sum } = this.observed;
    const buckets = this.#buckets.map(
      (limit, index) => ["_bucket", { le: String(limit) }, counts[index] ?? 0] as const,
    );
    return [...buckets, ["_bucket", { le: "+Inf" }, count], ["_sum", {}, sum], ["_count", {}, count]];
  }
}

/** Label values are bounded: further pairs of provider and model count as "other". */
export const MAX_TALLIES = 200;
const MAX_ERROR_CODES = 30;

/** An attempt that completed or failed. */
export interface EndedAttempt {
  readonly provider: string;
  readonly model: string;
  readonly outcome: "completed" | "failed";
  readonly seconds: number | null;
  readonly errorCode: string | null;
}

/** Counts and sums of attempts, by provider and model. */
export class Tallies {
  readonly #byName = new Map<string, ProviderTally>();

  constructor(stored: readonly ProviderTally[] = []) {
    for (const tally of stored)
      this.#byName.set(nameOf(tally.provider, tally.model), { ...tally, errors: byCode(tally.errors) });
  }

  get all(): readonly ProviderTally[] {
    return [...this.#byName.values()];
  }

  note({ provider, model, outcome, seconds, errorCode }: EndedAttempt): void {
    const tally = this.#of(provider, model);
    tally[outcome] += 1;
    if (seconds !== null) new Histogram(tally.durations).observe(seconds);
    if (errorCode === null) return;
    const isKnown = errorCode in tally.errors;
    const code = isKnown || Object.keys(tally.errors).length < MAX_ERROR_CODES ? errorCode : OTHER;
    tally.errors[code] = (tally.errors[code] ?? 0) + 1;
  }

  /** Of every attempt that spent something, however it ended. */
  noteSpent(provider: string, model: string, usage: Usage | null, nanoUsd: number | null): void {
    const tally = this.#of(provider, model);
    tally.inputTokens += usage?.inputTokens ?? 0;
    tally.outputTokens += usage?.outputTokens ?? 0;
    tally.nanoUsd += nanoUsd ?? 0;
  }

  /** A completed attempt's wait, run and speed. */
  measure(provider: string, model: string, observed: Observation): void {
    const tally = this.#of(provider, model);
    for (const measure of MEASURES) {
      const amount = observed[measure];
      if (amount === null) continue;
      const known = tally.measured?.[measure];
      const histogram = Histogram.of(measure, known);
      histogram.observe(measure === "tokensPerSecond" ? amount : amount / 1000);
      if (known === undefined) tally.measured = { ...tally.measured, [measure]: histogram.observed };
    }
  }

  #of(provider: string, model: string): ProviderTally {
    const known = this.#byName.get(nameOf(provider, model));
    if (known !== undefined) return known;
    if (this.#byName.size >= MAX_TALLIES && provider !== OTHER) return this.#of(OTHER, OTHER);
    const counts = { completed: 0, failed: 0, inputTokens: 0, outputTokens: 0, nanoUsd: 0 };
    const made = { provider, model, ...counts, errors: byCode(), durations: new Histogram().observed };
    this.#byName.set(nameOf(provider, model), made);
    return made;
  }
}

/** Without a prototype, because a worker may call an error `__proto__`. */
const byCode = (errors: Readonly<Record<string, number>> = {}): Record<string, number> =>
  Object.assign(Object.create(null), errors);

const nameOf = (provider: string, model: string): string => JSON.stringify([provider, model]);

const KEPT_MINUTES = 60;

/** What happened to jobs per minute: the minutes of the last hour that had events. */
export class Activity {
  readonly minutes: ActivityMinute[];

  constructor(minutes: readonly ActivityMinute[] = []) {
    this.minutes = [...minutes];
  }

  note(what: keyof Omit<ActivityMinute, "at">, nowAt: number): void {
    const at = Math.floor(nowAt / MINUTE_MS) * MINUTE_MS;
    let minute = this.minutes.at(-1);
    if (minute === undefined || minute.at < at) {
      minute = { at, created: 0, completed: 0, failed: 0, cancelled: 0 };
      this.minutes.push(minute);
      if (this.minutes.length > KEPT_MINUTES) this.minutes.shift();
    }
    minute[what] += 1;
  }

  /** The newest minutes, oldest first. */
  since(at: number): readonly ActivityMinute[] {
    return this.minutes.filter((minute) => minute.at >= at);
  }
}

export interface Counters {
  readonly activity: Activity;
  /** How often jobs reached a status: a job that failed twice counts twice. */
  readonly jobsByStatus: Record<JobStatus, number>;
  /** How often a failed job was retried. */
  retriedCount: number;
  /** Finished jobs that history has deleted: they are counted above, but are in no list. */
  readonly prunedByStatus: Partial<Record<JobStatus, number>>;
  readonly assignmentLatency: Histogram;
  readonly tallies: Tallies;
  readonly latencies: Latencies;
  readonly activitySlots: ActivitySlots;
  /** By the task's name, since the object woke. */
  readonly sweepFailures: Map<string, number>;
  /** From the first output to the end. */
  readonly streamDuration: Histogram;
  readonly affinity: Record<"hit" | "miss", number>;
  /** Answers whose client left. */
  streamsAbandoned: number;
}

/** Starts at zero if none are stored. */
export const countersFrom = (stored: StoredCounters | null): Counters => ({
  jobsByStatus:
    stored?.jobsByStatus ??
    (Object.fromEntries(JOB_STATUSES.map((status) => [status, 0])) as Record<JobStatus, number>),
  retriedCount: stored?.retriedCount ?? 0,
  prunedByStatus: { ...stored?.prunedByStatus },
  assignmentLatency: new Histogram(stored?.assignmentLatency),
  activity: new Activity(stored?.minutes),
  tallies: new Tallies(stored?.tallies),
  latencies: new Latencies(),
  activitySlots: new ActivitySlots(),
  sweepFailures: new Map(),
  streamDuration: new Histogram(stored?.streamDuration),
  affinity: stored?.affinity ?? { hit: 0, miss: 0 },
  streamsAbandoned: stored?.streamsAbandoned ?? 0,
});

export const storedCounters = (counters: Counters): StoredCounters => ({
  jobsByStatus: counters.jobsByStatus,
  retriedCount: counters.retriedCount,
  prunedByStatus: counters.prunedByStatus,
  assignmentLatency: counters.assignmentLatency.observed,
  streamDuration: counters.streamDuration.observed,
  affinity: counters.affinity,
  streamsAbandoned: counters.streamsAbandoned,
  minutes: counters.activity.minutes,
  tallies: counters.tallies.all,
});
