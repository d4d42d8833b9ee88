// The queue: requirement groups, and one order key with ageing. Jobs with equal requirements form one group, whose key
// is the requirements, so matching looks only at the first job of each group.

import { type ModelSet, modelDigestOf } from "../fleet/model-set.ts";
import type { Api } from "../words/api.ts";
import { HOUR_MS, MINUTE_MS } from "../words/duration.ts";
import type { Priority, Requirements } from "../words/requirements.ts";
import { isSameList } from "../words/same-list.ts";

/** A higher priority counts as enqueued earlier; a lower one can be overtaken for at most this long. */
export const HEAD_START_MS: Record<Priority, number> = {
  low: 0,
  normal: 5 * MINUTE_MS,
  high: 30 * MINUTE_MS,
  critical: 6 * HOUR_MS,
};

/** Smaller is earlier. `enqueuedAt` in epoch ms. */
export const orderKeyOf = (priority: Priority, enqueuedAt: number): number => enqueuedAt - HEAD_START_MS[priority];

/** What was asked for last, and its key: jobs that come together ask for the same, and share the text of one key. */
let latest: { readonly asked: Requirements; readonly key: string } | null = null;

export const groupKeyOf = (asked: Requirements): string => {
  if (latest === null || !isSame(latest.asked, asked)) latest = { asked, key: writeGroupKey(asked) };
  return latest.key;
};

/** Every requirement: jobs that differ in one must not share a key. */
const IS_SAME: Readonly<Record<keyof Requirements, (one: Requirements, other: Requirements) => boolean>> = {
  provider: (one, other) => one.provider === other.provider,
  model: (one, other) => one.model === other.model,
  api: (one, other) => one.api === other.api,
  batch: (one, other) => one.batch === other.batch,
  edge: (one, other) => one.edge === other.edge,
  tags: (one, other) => isSameList(one.tags, other.tags),
  excludedProviders: (one, other) => isSameList(one.excludedProviders, other.excludedProviders),
  avoidedWorkers: (one, other) => isSameList(one.avoidedWorkers, other.avoidedWorkers),
};
const COMPARISONS = Object.values(IS_SAME);

const isSame = (one: Requirements, other: Requirements): boolean => COMPARISONS.every((isEqual) => isEqual(one, other));

/** Rare requirements come last and only as far as they are set, so that older keys stay the same. */
const writeGroupKey = (asked: Requirements): string => {
  const { provider, model, tags, excludedProviders, api, avoidedWorkers, batch, edge } = asked;
  const usual = [provider, model, [...tags].sort(), [...excludedProviders].sort()];
  const rare = [api, [...avoidedWorkers].sort(), batch, edge];
  const isSet = [api !== null, avoidedWorkers.length > 0, batch !== null, edge === false];
  return JSON.stringify([...usual, ...rare.slice(0, isSet.lastIndexOf(true) + 1)]);
};

export const requirementsOf = (groupKey: string): Requirements => {
  const [provider, model, tags, excludedProviders, api = null, avoidedWorkers = [], batch = null, edge] = JSON.parse(
    groupKey,
  ) as [string | null, string | null, string[], string[], (Api | null)?, string[]?, (string | null)?, boolean?];
  const asked = { provider, model, tags, excludedProviders, api, avoidedWorkers, batch };
  return edge === undefined ? asked : { ...asked, edge };
};

/** A waiting job's position: smaller keys first, then the older id. */
export interface Place {
  readonly id: string;
  readonly orderKey: number;
}

export const isBefore = (one: Place, other: Place): boolean =>
  one.orderKey !== other.orderKey ? one.orderKey < other.orderKey : one.id < other.id;

export interface Group {
  readonly key: string;
  readonly requirements: Requirements;
  /** Jobs that wait and may run now. */
  count: number;
  /** The first of them; null if it must be looked up. */
  head: Place | null;
  /** The id of the job that was created first, whatever its priority; null if it must be looked up. */
  oldest: string | null;
}

/** A required feature under which a group may be indexed: every worker for the group must have it. */
type Anchor = string | number;

/** For a group that any worker may have. */
const ANYBODY = "";

function* anchorsOf({ tags, model, provider }: Requirements): Generator<Anchor> {
  for (const tag of tags) yield `tag ${tag}`;
  if (model !== null) yield modelDigestOf(model);
  if (provider !== null) yield `provider ${provider}`;
}

/** The part of a worker's offer by which it finds its groups. */
interface Taker {
  readonly provider: string;
  readonly tags: readonly string[];
  /** null: it takes any model. */
  readonly models: ModelSet | null;
}

/**
 * The waiting groups in memory, indexed so that a worker finds its groups without visiting the others. Each stands under
 * the feature under which the fewest stand, so that no number of groups with a feature that all workers have is visited
 * for a worker without the rest.
 */
export class Queue {
  readonly #groups = new Map<string, Group>();
  readonly #byAnchor = new Map<Anchor, Set<Group>>();
  readonly #anchorOf = new Map<Group, Anchor>();
  /** Those of `#byAnchor` that are models. */
  readonly #models = new Set<number>();
  readonly #avoiding = new Set<Group>();
  #count = 0;
  #version = 0;

  /** Changes with every job that comes or goes. */
  get version(): number {
    return this.#version;
  }

  /** How many jobs wait and may run now. */
  get count(): number {
    return this.#count;
  }

  get groups(): ReadonlyMap<string, Group> {
    return this.#groups;
  }

  /** Groups with jobs that some workers have failed. */
  get avoiding(): ReadonlySet<Group> {
    return this.#avoiding;
  }

  waitingIn(groupKey: string): number {
    return this.#groups.get(groupKey)?.count ?? 0;
  }

  /** What the store counted on waking. */
  load(groupKey: string, count: number): void {
    this.#version += 1;
    this.#count += count;
    this.#found(groupKey).count += count;
  }

  add(groupKey: string, place: Place): void {
    this.#version += 1;
    this.#count += 1;
    const isFirst = !this.#groups.has(groupKey);
    const group = this.#found(groupKey);
    group.count += 1;
    if (isFirst || (group.head !== null && isBefore(place, group.head))) group.head = place;
    if (isFirst || (group.oldest !== null && place.id < group.oldest)) group.oldest = place.id;
  }

  remove(groupKey: string, id: string): void {
    const group = this.#groups.get(groupKey);
    if (group === undefined) return;
    this.#version += 1;
    this.#count -= 1;
    group.count -= 1;
    if (group.head?.id === id) group.head = null;
    if (group.oldest === id) group.oldest = null;
    if (group.count <= 0) this.#forget(group);
  }

  /** Groups whose indexed feature the worker has; the caller applies the filters. */
  *groupsNear({ provider, tags, models }: Taker): Generator<Group> {
    yield* this.#byAnchor.get(ANYBODY) ?? [];
    yield* this.#byAnchor.get(`provider ${provider}`) ?? [];
    for (const tag of tags) yield* this.#byAnchor.get(`tag ${tag}`) ?? [];
    if (this.#models.size === 0) return;
    for (const model of models?.digests ?? this.#models) yield* this.#byAnchor.get(model) ?? [];
  }

  #found(groupKey: string): Group {
    const known = this.#groups.get(groupKey);
    if (known !== undefined) return known;
    const group: Group = { key: groupKey, requirements: requirementsOf(groupKey), count: 0, head: null, oldest: null };
    this.#groups.set(groupKey, group);
    if (group.requirements.avoidedWorkers.length > 0) this.#avoiding.add(group);
    const anchor = this.#rarestOf(anchorsOf(group.requirements));
    const peers = this.#byAnchor.get(anchor);
    if (peers === undefined) this.#byAnchor.set(anchor, new Set([group]));
    else peers.add(group);
    this.#anchorOf.set(group, anchor);
    if (typeof anchor === "number") this.#models.add(anchor);
    return group;
  }

  #rarestOf(anchors: Iterable<Anchor>): Anchor {
    let [rarest, fewest]: [Anchor, number] = [ANYBODY, Number.POSITIVE_INFINITY];
    for (const anchor of anchors) {
      const standing = this.#byAnchor.get(anchor)?.size ?? 0;
      if (standing < fewest) [rarest, fewest] = [anchor, standing];
      if (fewest === 0) break;
    }
    return rarest;
  }

  #forget(group: Group): void {
    this.#groups.delete(group.key);
    this.#avoiding.delete(group);
    const anchor = this.#anchorOf.get(group) ?? ANYBODY;
    const peers = this.#byAnchor.get(anchor);
    peers?.delete(group);
    this.#anchorOf.delete(group);
    if (peers?.size !== 0) return;
    this.#byAnchor.delete(anchor);
    if (typeof anchor === "number") this.#models.delete(anchor);
  }
}
