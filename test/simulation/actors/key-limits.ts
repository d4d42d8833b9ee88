// A key with limits: the jobs that it may create a minute and have open, what it may spend, and its requests a second
// and at a time. Counted again from the jobs and attempts that are stored.

import type { Refusal } from "../../../domain/words/refusal.ts";
import { newJob } from "../../support/new-job.ts";
import { dayOf } from "../invariants/money.ts";
import type { Snapshot } from "../invariants/snapshot.ts";
import type { Model } from "../model.ts";
import type { StepKind } from "../plan.ts";
import { type Action, isOpen, LIMITED, LIMITS, type World } from "../world.ts";

const MINUTE_MS = 60_000;

/** Of a minute that begins with a creation; a clock that was set back begins another. */
const countIn = ({ minute }: Model, at: number): number =>
  at >= minute.fromAt && at < minute.fromAt + MINUTE_MS ? minute.count : 0;

const noteMade = (model: Model, at: number): void => {
  const count = countIn(model, at) + 1;
  model.minute = { fromAt: count === 1 ? at : model.minute.fromAt, count };
};

const openOf = (now: Snapshot): number => {
  let count = 0;
  for (const { job } of now.jobs.values()) if (job.keyId === LIMITED.id && isOpen(job)) count += 1;
  return count;
};

/** New jobs of the key, in the order of their creation. */
export const keyLimitsHold = (_before: Snapshot, now: Snapshot, { model, isShared }: World): string | null => {
  const made = now.changed.map(({ job }) => job).filter(({ id, keyId }) => keyId === LIMITED.id && !model.seen.has(id));
  const spent = (at: number): number => model.spentByLimited.get(dayOf(at)) ?? 0;
  const spentBefore = model.spentBefore;
  model.spentBefore = spent(now.nowAt);
  for (const { id, createdAt } of made.sort((one, other) => (one.id < other.id ? -1 : 1))) {
    noteMade(model, createdAt);
    if (model.minute.count > LIMITS.requestsPerMinute)
      return `job ${id} is the ${model.minute.count}th of its minute, and its key may create ${LIMITS.requestsPerMinute}`;
    if (!isShared && Math.min(spentBefore, spent(createdAt)) >= LIMITS.dayNanoUsd)
      return `job ${id} was created by a key that has spent ${spentBefore} today`;
  }
  if (made.length === 0 || isShared) return null;
  const open = openOf(now);
  if (open > LIMITS.concurrent)
    return `the limited key has ${open} open jobs, and may create while it has fewer than ${LIMITS.concurrent}`;
  return null;
};

/** What waking must count again. */
export const openJobsAreCounted = (_before: Snapshot, now: Snapshot, { shell }: World): string | null => {
  const counted = shell.memory?.openByKey.get(LIMITED.id);
  if (counted === undefined) return null;
  const open = openOf(now);
  return counted === open ? null : `memory counts ${counted} open jobs of the limited key, and it has ${open}`;
};

const refusedInVain = ({ model, shell }: World, error: Refusal): string | null => {
  if (error.code !== "rate_limit_exceeded") return null;
  const open = [...model.seen.values()].filter(({ job, isHere }) => isHere && job.keyId === LIMITED.id && isOpen(job));
  const isFull = error.requestsPerMinute === null && open.length >= LIMITS.concurrent;
  const isOften = error.requestsPerMinute !== null && countIn(model, shell.clock.nowAt) >= LIMITS.requestsPerMinute;
  return isFull || isOften ? null : `a limited key with ${open.length} open jobs was refused: ${error.detail}`;
};

const createLimited: Action = async (world, [priority, model, tags]) => {
  const prompt = world.fresh("limited");
  world.model.asked.add(prompt);
  const job = newJob({
    prompt,
    input: {},
    model: model < 0.5 ? null : "m",
    tags: tags < 0.7 ? [] : ["nobody"],
    priority: priority < 0.5 ? "high" : "low",
  });
  const { isShared } = world;
  const answer = await world.shell.call(LIMITED, "createJob", { job, idempotency: null });
  if (answer === null) return;
  if (answer.ok) return world.model.accept(answer.value.id, prompt);
  world.model.refused.add(prompt);
  const wrong = isShared || world.isShared ? null : refusedInVain(world, answer.error);
  if (wrong !== null) world.model.violate(wrong);
};

/** The most and the fewest requests that the key may have left: what is between is uncertain. */
export interface Allowance {
  readonly at: number;
  readonly life: string;
  readonly most: number;
  readonly least: number;
}

const ALMOST = 1e-6;

/** By elapsed time. A new life, another limit or a clock that was set back may fill it. */
const refilled = (world: World, burst: number, perSecond: number): Allowance => {
  const { clock, lifeCount } = world.shell;
  const { allowance } = world.model;
  const life = `${lifeCount} ${burst} ${perSecond} ${clock.setBackFromAt}`;
  const added = ((clock.elapsedAt - allowance.at) / 1000) * perSecond;
  const isSame = allowance.life === life;
  return {
    at: clock.elapsedAt,
    life,
    most: isSame ? Math.min(burst, allowance.most + added) : burst,
    least: isSame ? Math.min(burst, allowance.least + added) : 0,
  };
};

const askOften: Action = async (world, [count, underWay]) => {
  for (let left = Math.ceil(count * 5); left > 0; left -= 1) await askOnce(world, 1 + Math.floor(underWay * 4));
};

const askOnce = async (world: World, underWay: number): Promise<void> => {
  const { shell, model } = world;
  const { requestsPerSecond: perSecond, burst, inFlight } = shell.memory?.config.requestLimits ?? {};
  const asking = shell.call({ ...LIMITED, underWay }, "readKillswitch", null);
  if (perSecond == null || burst == null || inFlight == null || world.isShared) return;
  const allowance = refilled(world, burst, perSecond);
  await shell.settle();
  const answer = await asking;
  const isAdmitted = answer?.ok === true;
  const isTooMany = underWay > inFlight;
  const isUncertain = answer === null || shell.memory?.config.requestLimits.burst !== burst;
  model.allowance = {
    ...allowance,
    most: Math.max(0, allowance.most - Number(isAdmitted && !isTooMany)),
    least: isUncertain ? 0 : Math.max(0, allowance.least - Number(isAdmitted)),
  };
  if (isUncertain) return;
  if (isAdmitted && isTooMany) model.violate(`request ${underWay} at a time was admitted, and ${inFlight} may be`);
  if (isAdmitted && allowance.most < 1 - ALMOST)
    model.violate(`a request was admitted where at most ${allowance.most} may be left`);
  if (!isAdmitted && !isTooMany && allowance.least > 1 + ALMOST)
    model.violate(`a request was refused where at least ${allowance.least} are left`);
};

export const KEY_LIMIT_ACTIONS = {
  "create with a limited key": createLimited,
  "ask often": askOften,
} satisfies Partial<Record<StepKind, Action>>;
