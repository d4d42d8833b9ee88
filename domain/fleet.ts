// The fleet in memory: every registered worker with its load, indexed by what it offers. It is an index over stored
// records, rebuilt on waking; what it answers depends on nothing else. Liveness is asked for, never remembered.

import { Bits } from "./bits.ts";
import type { Requirements } from "./requirements.ts";
import { pauseReasonOf, type Worker } from "./worker.ts";

export interface Member {
  readonly slot: number;
  worker: Worker;
  /** Jobs assigned to it or running on it. */
  load: number;
  /** Last sign of life in this object's memory, epoch ms. */
  lastSeenAt: number;
  /** Its socket is open. */
  isConnected: boolean;
  /** A claim of it waits. */
  isClaiming: boolean;
  /** Grows with each assignment in the fleet; the smallest was given a job longest ago. */
  lastTurn: number;
}

export class Fleet {
  readonly #slots: (Member | undefined)[] = [];
  readonly #freeSlots: number[] = [];
  readonly #byInstance = new Map<string, Member>();
  readonly #byProvider = new Map<string, Bits>();
  readonly #byTag = new Map<string, Bits>();
  readonly #byModel = new Map<string, Bits>();
  readonly #anyModel = new Bits();
  readonly #registered = new Bits();
  readonly #paused = new Bits();
  readonly #withRoom = new Bits();
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
      this.#refresh(known, nowAt);
      return known;
    }
    const slot = this.#freeSlots.pop() ?? this.#slots.length;
    const member: Member = {
      slot,
      worker,
      load: 0,
      lastSeenAt: worker.lastHeartbeatAt,
      isConnected: false,
      isClaiming: false,
      lastTurn: 0,
    };
    this.#slots[slot] = member;
    this.#byInstance.set(worker.instance, member);
    this.#index(member, true);
    this.#refresh(member, nowAt);
    return member;
  }

  remove(instance: string): void {
    const member = this.#byInstance.get(instance);
    if (member === undefined) return;
    this.#index(member, false);
    this.#paused.set(member.slot, false);
    this.#withRoom.set(member.slot, false);
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
    this.#withRoom.set(member.slot, member.load < member.worker.concurrency);
    if (change > 0) {
      this.#turn += 1;
      member.lastTurn = this.#turn;
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

  ofProvider(provider: string): Bits | undefined {
    return this.#byProvider.get(provider);
  }

  withTag(tag: string): Bits | undefined {
    return this.#byTag.get(tag);
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
    if (asked.model !== null) bits.intersect(this.servingModel(asked.model));
    for (const provider of asked.excludedProviders) bits.subtract(this.#byProvider.get(provider));
    return bits;
  }

  #index(member: Member, isPresent: boolean): void {
    const { slot, worker } = member;
    this.#registered.set(slot, isPresent);
    place(this.#byProvider, worker.provider, slot, isPresent);
    for (const tag of worker.tags) place(this.#byTag, tag, slot, isPresent);
    if (worker.models === null) this.#anyModel.set(slot, isPresent);
    for (const model of worker.models ?? []) place(this.#byModel, model, slot, isPresent);
  }

  #refresh(member: Member, nowAt: number): void {
    this.#paused.set(member.slot, pauseReasonOf(member.worker, nowAt) !== null);
    this.#withRoom.set(member.slot, member.load < member.worker.concurrency);
  }

  #moveProviderLoad(from: string | null, to: string | null, load: number): void {
    if (from !== null) this.#loadByProvider.set(from, this.providerLoad(from) - load);
    if (to !== null) this.#loadByProvider.set(to, this.providerLoad(to) + load);
  }
}

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
  before.provider === after.provider && before.tags === after.tags && before.models === after.models;
