// The fleet in memory: every registered worker with its load, indexed by what it offers. It is an index over stored
// records, rebuilt on waking; what it answers depends on nothing else. Liveness is computed on demand; cached bits only
// tell which workers can be skipped.

import type { Api } from "./api.ts";
import { Bits } from "./bits.ts";
import { Columns } from "./columns.ts";
import { modelKeyOf } from "./model-name.ts";
import { Postings } from "./posting.ts";
import type { Requirements } from "./requirements.ts";
import { SharedLists } from "./shared.ts";
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
  readonly #byProvider = new Postings();
  readonly #byTag = new Postings();
  readonly #byModel = new Postings();
  readonly #byApi = new Postings();
  readonly #anyModel = new Bits();
  readonly #registered = new Bits();
  readonly #paused = new Bits();
  readonly #unavailable = new Bits();
  readonly #withRoom = new Bits();
  readonly #connected = new Bits();
  readonly #cutOff = new Bits();
  /** Not heard of since the last look at the whole fleet; everybody else was heard of at `#heardAt` or later. */
  readonly #unheard = new Bits();
  #heardAt = Number.POSITIVE_INFINITY;
  readonly #loadByProvider = new Map<string, number>();
  /** Tags and models, kept once for all workers that have the same. */
  readonly #lists = new SharedLists();
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

  /** Providers that workers offer. */
  providers(): IterableIterator<string> {
    return this.#byProvider.values();
  }

  /** Jobs assigned to or running at a provider: the one that the worker offered when it was given the job. */
  providerLoad(provider: string): number {
    return this.#loadByProvider.get(provider) ?? 0;
  }

  /** Adds a worker or takes over its new record; its load and last sign of life stay. */
  put(given: Worker, nowAt: number): Member {
    const known = this.#byInstance.get(given.instance);
    const worker = this.#sharing(given, known?.worker);
    if (known !== undefined) {
      const before = known.worker;
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
    this.#connected.set(member.slot, member.isConnected);
    this.#noteFreshness(member);
  }

  remove(instance: string): void {
    const member = this.#byInstance.get(instance);
    if (member === undefined) return;
    this.#index(member, false);
    for (const bits of [this.#paused, this.#unavailable, this.#withRoom, this.#cutOff, this.#connected, this.#unheard])
      bits.set(member.slot, false);
    this.#giveBack(member.worker);
    this.#byInstance.delete(instance);
    this.#slots[member.slot] = undefined;
    this.#freeSlots.push(member.slot);
  }

  /** `provider` is the one that the worker offered when it was given the jobs. */
  addLoad(instance: string, provider: string, change: number): void {
    const providerLoad = this.providerLoad(provider) + change;
    if (providerLoad === 0) this.#loadByProvider.delete(provider);
    else this.#loadByProvider.set(provider, providerLoad);
    const member = this.#byInstance.get(instance);
    if (member === undefined) return;
    member.load += change;
    this.#noteRoom(member);
    if (change > 0) {
      this.#turn += 1;
      member.lastTurn = this.#turn;
      this.columns.lastTurn[member.slot] = this.#turn;
    }
  }

  /** Sets for the routing filters; the caller must not change them. */
  get registered(): Bits {
    return this.#registered;
  }

  get paused(): Bits {
    return this.#paused;
  }

  /** Those that say they can take nothing now. */
  get unavailable(): Bits {
    return this.#unavailable;
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

  /** Workers whose socket is open and that were not heard of since then, as far as memory knows. */
  silentButConnected(since: number): Bits {
    return this.#connected.copy().intersect(this.maybeSilent(since));
  }

  ofProvider(provider: string): Bits | undefined {
    return this.#byProvider.with(provider);
  }

  withTag(tag: string): Bits | undefined {
    return this.#byTag.with(tag);
  }

  /** Workers that answer the API in its own dialect. */
  answering(api: Api): Bits | undefined {
    return this.#byApi.with(api);
  }

  /** Workers that name the model, or name none and so take any. */
  servingModel(model: string): Bits {
    return this.#anyModel.copy().union(this.#byModel.with(modelKeyOf(model)));
  }

  /** Workers that offer all that is required, whatever their state. */
  offering(asked: Requirements): Bits {
    const bits = this.#registered.copy();
    if (asked.provider !== null) bits.intersect(this.ofProvider(asked.provider));
    for (const tag of asked.tags) bits.intersect(this.withTag(tag));
    if (asked.api !== null) bits.intersect(this.answering(asked.api));
    if (asked.model !== null) bits.intersect(this.servingModel(asked.model));
    for (const provider of asked.excludedProviders) bits.subtract(this.ofProvider(provider));
    return bits;
  }

  #index(member: Member, isPresent: boolean): void {
    const { slot, worker } = member;
    this.#registered.set(slot, isPresent);
    if (isPresent) this.columns.setOffer(slot, worker);
    else this.columns.dropOffer(slot);
    this.#byProvider.place(worker.provider, slot, isPresent);
    for (const tag of worker.tags) this.#byTag.place(tag, slot, isPresent);
    for (const api of worker.apis) this.#byApi.place(api, slot, isPresent);
    if (worker.models === null) this.#anyModel.set(slot, isPresent);
    for (const model of worker.models ?? []) this.#byModel.place(modelKeyOf(model), slot, isPresent);
  }

  /** The worker with lists that others have, too; those of the record before go back where they differ. */
  #sharing(worker: Worker, before: Worker | undefined): Worker {
    if (before !== undefined && before.tags === worker.tags && before.models === worker.models) return worker;
    const tags = this.#lists.take(worker.tags);
    const models = worker.models === null ? null : this.#lists.take(worker.models);
    if (before !== undefined) this.#giveBack(before);
    return { ...worker, tags, models };
  }

  #giveBack({ tags, models }: Worker): void {
    this.#lists.giveBack(tags);
    if (models !== null) this.#lists.giveBack(models);
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
    this.#unavailable.set(member.slot, member.worker.unavailable !== null);
    this.#noteRoom(member);
    this.#cutOff.set(member.slot, isCutOff(member));
  }
}

/** How much of its concurrency is taken, in [0, 1]. */
export const usedShareOf = ({ worker, load }: Member): number =>
  worker.concurrency === 0 ? 1 : Math.min(1, load / worker.concurrency);

/** Its socket dropped: it keeps its leases, but would not hear of a new one. */
export const isCutOff = ({ worker, isConnected, isClaiming }: Member): boolean =>
  worker.viaSocket && !isConnected && !isClaiming;

const isSameIndexing = (before: Worker, after: Worker): boolean =>
  before.provider === after.provider &&
  before.tags === after.tags &&
  before.models === after.models &&
  before.apis === after.apis &&
  before.tier === after.tier;
