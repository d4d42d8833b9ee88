// Budgets, computed again from the cost of attempts: what is closed, and that it is.

import { isLeased } from "../../../domain/job/job.ts";
import { mayCost } from "../../../domain/money/cost.ts";
import type { Model } from "../model.ts";
import type { World } from "../world.ts";
import type { Snapshot } from "./snapshot.ts";

const NANO = 1_000_000_000;

const DAY_MS = 86_400_000;

export const dayOf = (at: number): string => `day ${Math.floor(at / DAY_MS)}`;

let lastDay = "";
let lastMonth = "";

/** Called repeatedly for the same day. */
const monthOf = (at: number): string => {
  const day = dayOf(at);
  if (day !== lastDay) {
    lastDay = day;
    lastMonth = `month ${new Date(at).toISOString().slice(0, 7)}`;
  }
  return lastMonth;
};

const keyOf = (period: string, provider: string | null): string => `${period} ${provider ?? "*"}`;

export const noteSpent = ({ spent }: Model, provider: string, at: number, nanoUsd: number): void => {
  for (const period of [dayOf(at), monthOf(at)])
    for (const one of [provider, null]) {
      const key = keyOf(period, one);
      spent.set(key, (spent.get(key) ?? 0) + nanoUsd);
    }
};

export const noteLimited = ({ spentByLimited }: Model, at: number, nanoUsd: number): void => {
  spentByLimited.set(dayOf(at), (spentByLimited.get(dayOf(at)) ?? 0) + nanoUsd);
};

const spentIn = ({ model }: World, period: string, provider: string | null): number =>
  model.spent.get(keyOf(period, provider)) ?? 0;

interface Limits {
  readonly dayUsd?: number | null | undefined;
  readonly monthUsd?: number | null | undefined;
}

const isReached = (world: World, limits: Limits | null, provider: string | null, nowAt: number): boolean => {
  if (limits === null) return false;
  const { dayUsd = null, monthUsd = null } = limits;
  return (
    (dayUsd !== null && spentIn(world, dayOf(nowAt), provider) >= Math.round(dayUsd * NANO)) ||
    (monthUsd !== null && spentIn(world, monthOf(nowAt), provider) >= Math.round(monthUsd * NANO))
  );
};

export const isTenantsReached = (world: World, { config, nowAt }: Snapshot): boolean =>
  isReached(world, config.budget, null, nowAt);

/** The providers that a reached budget closes now. */
export const closedByMoney = (world: World, now: Snapshot): Set<string> => {
  const { config, nowAt, workers } = now;
  const closed = new Set<string>();
  for (const [provider, { budget }] of config.providers)
    if (isReached(world, budget, provider, nowAt)) closed.add(provider);
  if (!isTenantsReached(world, now)) return closed;
  const month = monthOf(nowAt);
  for (const { provider } of workers.values()) {
    const costs = mayCost(provider, config.providers.get(provider)?.pricing);
    if (costs || spentIn(world, month, provider) > 0) closed.add(provider);
  }
  return closed;
};

export const budgetsHold = (before: Snapshot, now: Snapshot, world: World): string | null => {
  const { model } = world;
  const closed = closedByMoney(world, now);
  const closedBefore = model.closedByMoney;
  model.closedByMoney = closed;
  const { onReached } = now.config.budget;
  // A clock that was set back into a day that was over halts nobody; the providers that cost are closed again.
  const mustHalt = onReached === "killswitch" && world.shell.clock.setBackFromAt <= now.nowAt && !world.isShared;
  if (mustHalt && now.killswitch.level === 0 && isTenantsReached(world, now))
    return "the budget is reached, and its killswitch is not on";
  for (const { job } of now.changed) {
    if (!isLeased(job) || before.jobs.get(job.id)?.job.lease === job.lease) continue;
    const provider = job.workerProvider ?? "";
    if (!world.isShared && closed.has(provider) && closedBefore.has(provider))
      return `job ${job.id} was given to ${provider}, whose budget is reached`;
  }
  return null;
};
