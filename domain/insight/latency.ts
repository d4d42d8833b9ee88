// How long completed attempts waited and ran, and how fast they were, by slot of time and by what ran them. Invariant: a
// slot names at most MAX_VALUES values of a dimension, the rest together as `other`, whatever names jobs bring.

import type { Job, Usage } from "../job/job.ts";
import { merge, observe, type Spread } from "./spread.ts";

export const DIMENSIONS = ["model", "provider", "worker", "tag"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

export const MEASURES = ["queueWaitMs", "firstTokenMs", "runMs", "tokensPerSecond"] as const;
export type Measure = (typeof MEASURES)[number];

export const MAX_VALUES = 100;
export const OTHER = "other";

export type Measured = Readonly<Record<Measure, Spread>> & { jobs: number };
/** By value of the dimension. */
export type Slot = Map<string, Measured>;

/** Of one span of time. */
export type Slots = Readonly<Record<Dimension, Slot>>;

export const noSlots = (): Slots => ({ model: new Map(), provider: new Map(), worker: new Map(), tag: new Map() });

export const noMeasures = (): Measured => ({
  jobs: 0,
  queueWaitMs: new Map(),
  firstTokenMs: new Map(),
  runMs: new Map(),
  tokensPerSecond: new Map(),
});

export type Observation = Readonly<Record<Measure, number | null>>;

const between = (from: number | null, to: number | null): number | null =>
  from === null || to === null ? null : Math.max(0, to - from);

/** Of an attempt that has completed. */
export const observationOf = (job: Job, usage: Usage | null): Observation => {
  const runMs = between(job.startedAt, job.finishedAt);
  const isSpeedKnown = usage !== null && usage.outputTokens > 0 && runMs !== null && runMs > 0;
  return {
    queueWaitMs: between(job.runnableAt ?? job.createdAt, job.assignedAt),
    firstTokenMs: between(job.startedAt, job.firstTokenAt),
    runMs,
    tokensPerSecond: isSpeedKnown ? usage.outputTokens / (runMs / 1000) : null,
  };
};

/** What the attempt counts under. */
export const valuesOf = (job: Job): Readonly<Record<Dimension, readonly string[]>> => ({
  model: [job.ranModel ?? job.model ?? ""],
  provider: [job.ranProvider ?? job.workerProvider ?? ""],
  worker: [job.assignedWorker ?? ""],
  tag: job.tags,
});

const measuredOf = (slot: Slot, value: string): Measured => {
  const known = slot.get(value);
  if (known !== undefined) return known;
  if (slot.size >= MAX_VALUES && value !== OTHER) return measuredOf(slot, OTHER);
  const made = noMeasures();
  slot.set(value, made);
  return made;
};

export const note = (slot: Slot, values: readonly string[], observed: Observation): void => {
  for (const value of values) {
    const measured = measuredOf(slot, value);
    measured.jobs += 1;
    for (const measure of MEASURES) {
      const amount = observed[measure];
      if (amount !== null) observe(measured[measure], amount);
    }
  }
};

export const mergeMeasured = (into: Measured, from: Measured): void => {
  into.jobs += from.jobs;
  for (const measure of MEASURES) merge(into[measure], from[measure]);
};
