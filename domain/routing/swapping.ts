// Swapping models without thrashing: a worker that holds as many models as it can goes on with those that it has loaded
// while jobs wait for them. A job for another model waits, at most until the oldest of its own has waited its time: no
// model starves.

import type { Member } from "../fleet/fleet.ts";
import { withModel } from "../fleet/model-set.ts";
import { modelKeyOf } from "../words/model-key.ts";
import { PRIORITIES, type Priority, type Requirements } from "../words/requirements.ts";

/** Jobs with the same requirements that wait for a model. */
export interface WaitingGroup {
  readonly requirements: Requirements;
  readonly count: number;
  /** When the oldest was enqueued. */
  readonly oldestAt: () => number;
  /** Of the first of them. */
  readonly priority: () => Priority;
}

/** What waits for one model. */
export interface WaitingModel {
  readonly model: string;
  readonly groups: readonly WaitingGroup[];
}

/** Present where `routing.swap_wait_seconds` is configured. */
export interface SwapRules {
  readonly waitMs: number;
  /** By the key of each model that jobs wait for; lines of batches hold up nobody. */
  readonly waiting: () => ReadonlyMap<string, WaitingModel>;
}

interface SwapAsked {
  readonly model: string | null;
  readonly urgency?: Priority | undefined;
  readonly waitingSinceAt?: number | undefined;
}

const rankOf = (priority: Priority): number => PRIORITIES.indexOf(priority);
const highest = (groups: readonly WaitingGroup[], least: number): number =>
  groups.reduce((rank, { priority }) => Math.max(rank, rankOf(priority())), least);

const seconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));

/** It cannot hold the model beside those that are loaded. */
const mustSwapFor = ({ worker: { machine } }: Member, model: string): boolean => {
  if (machine === null || machine.loaded === null || machine.maxLoaded === null) return false;
  return machine.loaded.count >= machine.maxLoaded && !withModel(model)(machine.loaded);
};

/**
 * Why a worker leaves the model that a job asks for to later; null if it may load it. `mayTake`: whether the worker may
 * have such jobs, when it has room.
 */
export const heldBySwap = (
  member: Member,
  { model, urgency, waitingSinceAt }: SwapAsked,
  rules: SwapRules,
  mayTake: (requirements: Requirements) => boolean,
  nowAt: number,
): string | null => {
  const loaded = member.worker.machine?.loaded ?? null;
  if (model === null || loaded === null || !mustSwapFor(member, model)) return null;
  const own = rules.waiting().get(modelKeyOf(model))?.groups ?? [];
  const oldestAt = own.reduce((at, group) => Math.min(at, group.oldestAt()), waitingSinceAt ?? nowAt);
  const leftMs = rules.waitMs - (nowAt - oldestAt);
  if (leftMs <= 0) return null;
  const before = [...rules.waiting().values()].flatMap(({ model: name, groups }) => {
    if (!withModel(name)(loaded)) return [];
    const taken = groups.filter(({ requirements }) => mayTake(requirements));
    return taken.length === 0 ? [] : [{ name, groups: taken }];
  });
  const groups = before.flatMap((one) => one.groups);
  if (groups.length === 0) return null;
  if (highest(own, rankOf(urgency ?? "low")) > highest(groups, -1)) return null;
  const count = groups.reduce((sum, group) => sum + group.count, 0);
  const names = before.map(({ name }) => name).join(", ");
  const jobs = `${count} ${count === 1 ? "job" : "jobs"} for ${names} before it`;
  return `waits for ${model} to be loaded on ${member.worker.instance}: ${jobs}, at most ${seconds(leftMs)} s more`;
};
