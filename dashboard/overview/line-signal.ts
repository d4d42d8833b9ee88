// What the dispatch signal shows: whether the router can dispatch now, and if not, why. One row per rule, the worst
// first. Pure, so tests cover each row.

import { count, plural, shortened, usd } from "../format.ts";

type SignalAspect = "stop" | "caution" | "clear";

export interface LineFacts {
  readonly nowAt: number;
  /** The killswitch's level; 0 if it is off. */
  readonly haltLevel: number;
  readonly fleet: readonly {
    readonly workers: number;
    readonly offline: number;
    readonly paused: number;
    readonly unavailable: number;
    readonly places: number;
    readonly load: number;
  }[];
  readonly waiting: number;
  readonly underWay: number;
  /** The longest wait, by reason; null while nothing waits. */
  readonly longestWait: { readonly reason: string; readonly oldestAt: number; readonly count: number } | null;
  readonly budgetReached: { readonly period: "day" | "month"; readonly limitUsd: number } | null;
  /** In the last minutes. */
  readonly completed: number;
  readonly failed: number;
}

/** Shorter waits are normal and do not change the signal. */
const WAIT_WORTH_A_LAMP_MS = 10_000;
const FAILURES_WORTH_A_LAMP = 5;

/** The signal has little room; the list of what waits shows the whole reason. */
const MAX_REASON_CHARS = 60;

interface Sums {
  readonly workers: number;
  readonly present: number;
  readonly active: number;
  readonly places: number;
  readonly free: number;
  readonly unavailable: number;
  readonly paused: number;
}

const sumsOf = ({ fleet }: LineFacts): Sums => {
  const sum = (of: (one: LineFacts["fleet"][number]) => number): number =>
    fleet.reduce((total, one) => total + of(one), 0);
  const workers = sum((one) => one.workers);
  const present = workers - sum((one) => one.offline);
  const [paused, unavailable] = [sum((one) => one.paused), sum((one) => one.unavailable)];
  const free = sum((one) => Math.max(0, one.places - one.load));
  const active = present - paused - unavailable;
  return { workers, present, active, places: sum((one) => one.places), free, unavailable, paused };
};

type Rule = (facts: LineFacts, sums: Sums) => string | null;

const STOPS: readonly Rule[] = [
  ({ haltLevel }) => (haltLevel > 0 ? `killswitch level ${haltLevel}` : null),
  (_, { workers }) => (workers === 0 ? "no worker is registered" : null),
  (_, { present }) => (present === 0 ? "every worker is offline" : null),
  (_, { active, unavailable, paused }) =>
    active === 0 && unavailable > 0 ? (paused > 0 ? "no worker is available" : "every worker is unavailable") : null,
  ({ budgetReached, waiting, underWay }) =>
    budgetReached !== null && waiting > 0 && underWay === 0
      ? `the ${budgetReached.period}'s budget of ${usd(budgetReached.limitUsd)} is reached`
      : null,
  ({ failed, completed }) =>
    failed >= FAILURES_WORTH_A_LAMP && completed === 0 ? `the last ${plural(failed, "job")} all failed` : null,
];

const CAUTIONS: readonly Rule[] = [
  (_, { active }) => (active === 0 ? "every worker is paused" : null),
  ({ budgetReached }) =>
    budgetReached === null ? null : `the ${budgetReached.period}'s budget of ${usd(budgetReached.limitUsd)} is reached`,
  // A worker that shuts down offers none.
  (_, { places }) => (places === 0 ? "no worker offers a place" : null),
  (_, { free }) => (free === 0 ? "every worker is at capacity" : null),
  ({ longestWait, nowAt }) =>
    longestWait !== null && nowAt - longestWait.oldestAt > WAIT_WORTH_A_LAMP_MS
      ? `${plural(longestWait.count, "job waits", "jobs wait")}, ${shortened(longestWait.reason, MAX_REASON_CHARS)}`
      : null,
  ({ failed, completed }) =>
    failed >= FAILURES_WORTH_A_LAMP && failed > completed
      ? `${count(failed)} of the last ${count(failed + completed)} jobs failed`
      : null,
];

const firstOf = (rules: readonly Rule[], facts: LineFacts, sums: Sums): string | null => {
  for (const rule of rules) {
    const says = rule(facts, sums);
    if (says !== null) return says;
  }
  return null;
};

export const lineSignal = (facts: LineFacts): { aspect: SignalAspect; says: string } => {
  const sums = sumsOf(facts);
  const stop = firstOf(STOPS, facts, sums);
  if (stop !== null) return { aspect: "stop", says: `Stop: ${stop}` };
  const caution = firstOf(CAUTIONS, facts, sums);
  if (caution !== null) return { aspect: "caution", says: `Caution: ${caution}` };
  return { aspect: "clear", says: `Clear: ${plural(sums.free, "free place")}` };
};
