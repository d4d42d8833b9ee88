// The fleet in memory: every registered worker with its load, indexed by what it offers. It is an index over stored
// records, rebuilt on waking; what it answers depends on nothing else. Liveness is asked for, never remembered: what
// is kept of it only says whom there is no need to ask about.

import type { Api } from "./api.ts";
import { Bits } from "./bits.ts";
import { Columns } from "./columns.ts";
import type { Requirements } from "./requirements.ts";
import { pauseReasonOf, successRateOf, type Worker } from "./worker.ts";

/** How a worker can be told of a job at once. */
export interface Reach {
  /** Its socket is open. */
  readonly isConnected: boolean;
  /** A claim of it waits. */
  readonly isClaiming: boolean;
}

export interface Member extends Reach {
  readonly slot: number;
  readonly worker: Worker;
  /** Jobs assigned to it or running on it. */
  readonly load: number;
  /** Last sign of life in this object's memory, epoch ms. */
  readonly lastSeenAt: number;
  /** Grows with each assignment in the fleet; the smallest was given a job longest ago. */
  readonly lastTurn: number;
  /** Leases that a claim handed to it and that it has not started, by job: when. */
  readonly handedAt: ReadonlyMap<string, number>;
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };
type Slot = Mutable<Omit<Member, "handedAt">> & { handedAt: Map<string, number> };
/** Most workers hold nothing unstarted: they share one map, which stays empty. */
const NONE_HANDED = new Map<string, number>();

export class Fleet {
  readonly columns = new Columns();
  readonly #slots: (Slot | undefined)[] = [];
  readonly #freeSlots: number[] = [];
  readonly #byInstance = new Map<string, Slot>();
  readonly #byProvider = new Map<string, Bits>();
  readonly #byTag = new Map<string, Bits>();
  readonly #byModel = new Map<string, Bits>();
  readonly #byApi = new Map<string, Bits>();
  readonly #anyModel = new Bits();
  readonly #registered = new Bits();
  readonly #paused = new Bits();
  readonly #withRoom = new Bits();
  readonly #cutOff = new Bits();
  /** Not heard of since the last look at the whole fleet; everybody else was heard of at `#heardAt` or later. */
  readonly #unheard = new Bits();
  #heardAt = Number.POSITIVE_INFINITY;
  readonly #loadByProvider = new Map<string, number>();
  #turn = 0;

  get size(): number {
    return this.#byInstance.size;
  }

  members(): IterableIterator<Member> {
    return this.#byInstance.values();
  }

  get(instance: string): Member | undefined {
    return this.#byInstance.get(instance);
  }

  at(slot: number): Member {
    const member = this.#slots[slot];
    if (member === undefined) throw new Error(`no worker in slot ${slot}`);
    return member;
  }

  /** Jobs assigned to or running on workers of a provider. */
  providerLoad(provider: string): number {
    return this.#loadByProvider.get(provider) ?? 0;
  }

  /** Adds a worker or takes over its new record; its load and last sign of life stay. */
  put(worker: Worker, nowAt: number): Member {
    const known = this.#byInstance.get(worker.instance);
    if (known !== undefined) {
      const before = known.worker;
      if (before.provider !== worker.provider) this.#moveProviderLoad(before.provider, worker.provider, known.load);
      if (!isSameIndexing(before, worker)) {
        this.#index(known, false);
        known.worker = worker;
        this.#index(known, true);
      }
      known.worker = worker;
      if (before.outcomes !== worker.outcomes) this.columns.successRate[known.slot] = successRateOf(worker);
      this.#refresh(known, nowAt);
      return known;
    }
    const slot = this.#freeSlots.pop() ?? this.#slots.length;
    const member: Slot = {
      slot,
      worker,
      load: 0,
      lastSeenAt: worker.lastHeartbeatAt,
      isConnected: false,
      isClaiming: false,
      lastTurn: 0,
      handedAt: NONE_HANDED,
    };
    this.#slots[slot] = member;
    this.#byInstance.set(worker.instance, member);
    this.#index(member, true);
    this.columns.successRate[slot] = successRateOf(worker);
    this.columns.lastTurn[slot] = 0;
    this.#refresh(member, nowAt);
    this.noteSeen(worker.instance, worker.lastHeartbeatAt);
    return member;
  }

  /** A sign of life. */
  noteSeen(instance: string, at: number): void {
    const member = this.#byInstance.get(instance);
    if (member === undefined) return;
    member.lastSeenAt = at;
    this.#noteFreshness(member);
    this.#unheard.set(member.slot, false);
    if (at < this.#heardAt) this.#heardAt = at;
  }

  /** A claim handed it a lease, or (null) the lease is started or over. */
  noteHanded(instance: string, jobId: string, at: number | null): void {
    const member = this.#byInstance.get(instance);
    if (member === undefined) return;
    if (at === null) member.handedAt.delete(jobId);
    else if (member.handedAt === NONE_HANDED) member.handedAt = new Map([[jobId, at]]);
    else member.handedAt.set(jobId, at);
  }

  /** Its socket opened or closed, its claim waits or is over. */
  noteReach(instance: string, reach: Partial<Reach>): void {
    const member = this.#byInstance.get(instance);
    if (member === undefined) return;
    member.isConnected = reach.isConnected ?? member.isConnected;
    member.isClaiming = reach.isClaiming ?? member.isClaiming;
    this.#cutOff.set(member.slot, isCutOff(member));
    this.#noteFreshness(member);
  }

  remove(instance: string): void {
    const member = this.#byInstance.get(instance);
    if (member === undefined) return;
    this.#index(member, false);
    this.#paused.set(member.slot, false);
    this.#withRoom.set(member.slot, false);
    this.#cutOff.set(member.slot, false);
    this.#unheard.set(member.slot, false);
    this.#moveProviderLoad(member.worker.provider, null, member.load);
    this.#byInstance.delete(instance);
    this.#slots[member.slot] = undefined;
    this.#freeSlots.push(member.slot);
  }

  addLoad(instance: string, change: number): void {
    const member = this.#byInstance.get(instance);
    if (member === undefined) return;
    member.load += change;
    this.#moveProviderLoad(null, member.worker.provider, change);
    this.#noteRoom(member);
    if (change > 0) {
      this.#turn += 1;
      member.lastTurn = this.#turn;
      this.columns.lastTurn[member.slot] = this.#turn;
    }
  }

  /** Pauses end by themselves; a sweep calls this when one does. */
  refreshPause(instance: string, nowAt: number): void {
    const member = this.#byInstance.get(instance);
    if (member !== undefined) this.#refresh(member, nowAt);
  }

  /** Sets for `match` and for counting refusals; the caller must not change them. */
  get registered(): Bits {
    return this.#registered;
  }

  get paused(): Bits {
    return this.#paused;
  }

  get withRoom(): Bits {
    return this.#withRoom;
  }

  get cutOff(): Bits {
    return this.#cutOff;
  }

  /**
   * Everybody not heard of since then, and perhaps some who were: the rest need not be asked about. Most calls answer
   * from what the last look found; the whole fleet is looked at about once in the time that passes until `since`.
   */
  maybeSilent(since: number): Bits {
    if (since <= this.#heardAt) return this.#unheard;
    this.#heardAt = Number.POSITIVE_INFINITY;
    for (const { slot, lastSeenAt } of this.#byInstance.values()) {
      this.#unheard.set(slot, lastSeenAt < since);
      if (lastSeenAt >= since && lastSeenAt < this.#heardAt) this.#heardAt = lastSeenAt;
    }
    return this.#unheard;
  }

  /** Providers that have a worker. */
  providers(): IterableIterator<string> {
    return this.#byProvider.keys();
  }

  ofProvider(provider: string): Bits | undefined {
    return this.#byProvider.get(provider);
  }

  withTag(tag: string): Bits | undefined {
    return this.#byTag.get(tag);
  }

  /** Workers that answer the API in its own dialect. */
  answering(api: Api): Bits | undefined {
    return this.#byApi.get(api);
  }

  /** Workers that name the model, or name none and so take any. */
  servingModel(model: string): Bits {
    return this.#anyModel.copy().union(this.#byModel.get(model));
  }

  /** Workers that offer all that is required, whatever their state. */
  offering(asked: Requirements): Bits {
    const bits = this.#registered.copy();
    if (asked.provider !== null) bits.intersect(this.#byProvider.get(asked.provider));
    for (const tag of asked.tags) bits.intersect(this.#byTag.get(tag));
    if (asked.api !== null) bits.intersect(this.#byApi.get(asked.api));
    if (asked.model !== null) bits.intersect(this.servingModel(asked.model));
    for (const provider of asked.excludedProviders) bits.subtract(this.#byProvider.get(provider));
    return bits;
  }

  #index(member: Member, isPresent: boolean): void {
    const { slot, worker } = member;
    this.#registered.set(slot, isPresent);
    if (isPresent) this.columns.setOffer(slot, worker);
    place(this.#byProvider, worker.provider, slot, isPresent);
    for (const tag of worker.tags) place(this.#byTag, tag, slot, isPresent);
    for (const api of worker.apis) place(this.#byApi, api, slot, isPresent);
    if (worker.models === null) this.#anyModel.set(slot, isPresent);
    for (const model of worker.models ?? []) place(this.#byModel, model, slot, isPresent);
  }

  #noteRoom(member: Member): void {
    this.columns.usedShare[member.slot] = usedShareOf(member);
    this.#withRoom.set(member.slot, member.load < member.worker.concurrency);
  }

  #noteFreshness({ slot, isConnected, isClaiming, lastSeenAt }: Member): void {
    this.columns.seenAt[slot] = isConnected || isClaiming ? Number.POSITIVE_INFINITY : lastSeenAt;
  }

  #refresh(member: Member, nowAt: number): void {
    this.#paused.set(member.slot, pauseReasonOf(member.worker, nowAt) !== null);
    this.#noteRoom(member);
    this.#cutOff.set(member.slot, isCutOff(member));
  }

  #moveProviderLoad(from: string | null, to: string | null, load: number): void {
    if (from !== null) this.#loadByProvider.set(from, this.providerLoad(from) - load);
    if (to !== null) this.#loadByProvider.set(to, this.providerLoad(to) + load);
  }
}

/** How much of its concurrency is taken, in [0, 1]. */
export const usedShareOf = ({ worker, load }: Member): number =>
  worker.concurrency === 0 ? 1 : Math.min(1, load / worker.concurrency);

/** Its socket dropped: it keeps its leases, but would not hear of a new one. */
export const isCutOff = ({ worker, isConnected, isClaiming }: Member): boolean =>
  worker.viaSocket && !isConnected && !isClaiming;

const place = (index: Map<string, Bits>, key: string, slot: number, isPresent: boolean): void => {
  const bits = index.get(key);
  if (bits !== undefined) {
    bits.set(slot, isPresent);
    if (!isPresent && bits.first() === -1) index.delete(key);
  } else if (isPresent) {
    const fresh = new Bits();
    fresh.set(slot);
    index.set(key, fresh);
  }
};

const isSameIndexing = (before: Worker, after: Worker): boolean =>
  before.provider === after.provider &&
  before.tags === after.tags &&
  before.models === after.models &&
  before.apis === after.apis &&
  before.tier === after.tier;
