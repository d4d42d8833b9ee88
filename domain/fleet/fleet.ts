// The fleet in memory: every registered worker with its load, indexed by its offer. An index over stored records,
// rebuilt on waking. Liveness is computed on demand; cached bits only say which workers can be skipped.

import type { Api } from "../words/api.ts";
import type { Requirements } from "../words/requirements.ts";
import { Bits } from "./bits.ts";
import { Columns } from "./columns.ts";
import { EqualWorkers } from "./equal-workers.ts";
import { modelKeyOf } from "./model-name.ts";
import { modelsTaken } from "./model-set.ts";
import { ModelSets } from "./model-sets.ts";
import { Postings } from "./postings.ts";
import { SharedLists } from "./shared-lists.ts";
import { offerBytesOf, pauseOf, successRateOf, type Worker } from "./worker.ts";

/** Whether a worker can get a job at once. */
export interface Reach {
  /** Its socket is open. */
  readonly isConnected: boolean;
  /** One of its claims is waiting. */
  readonly isClaiming: boolean;
  /** The key of its last report was revoked. */
  readonly isLockedOut: boolean;
}

export interface Member extends Reach {
  readonly slot: number;
  readonly worker: Worker;
  /** Jobs assigned to it or running on it. */
  readonly load: number;
  /** Last sign of life known in memory, epoch ms. */
  readonly lastSeenAt: number;
  /** Grows with each assignment in the fleet; the smallest was given a job longest ago. */
  readonly lastTurn: number;
  /** Leases that a claim returned and that it has not started: job → time. */
  readonly handedAt: ReadonlyMap<string, number>;
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };
type Slot = Mutable<Omit<Member, "handedAt">> & { handedAt: Map<string, number> };
/** Most workers have none, so they share one map, which stays empty. */
const NONE_HANDED = new Map<string, number>();

export class Fleet {
  readonly columns = new Columns();
  readonly #slots: (Slot | undefined)[] = [];
  readonly #freeSlots: number[] = [];
  readonly #byInstance = new Map<string, Slot>();
  readonly #byProvider = new Postings();
  readonly #byTag = new Postings();
  readonly #models = new ModelSets();
  readonly #runtimeModels = new ModelSets();
  readonly #byApi = new Postings();
  /** By model, the workers whose runtime answered that it does not have it. */
  readonly #missing = new Postings();
  readonly #anyModel = new Bits();
  readonly #registered = new Bits();
  readonly #paused = new Bits();
  readonly #unavailable = new Bits();
  readonly #busy = new Bits();
  /** Something of their record ends at an instant. */
  readonly #timed = new Bits();
  readonly #withRoom = new Bits();
  readonly #connected = new Bits();
  readonly #cutOff = new Bits();
  readonly #edge = new Bits();
  /** Silent when the whole fleet was last examined; all others reported at `#heardAt` or later. */
  readonly #unheard = new Bits();
  #heardAt = Number.POSITIVE_INFINITY;
  readonly #loadByProvider = new Map<string, number>();
  /** Lists of tags and APIs, stored once for all workers with equal lists. */
  readonly #lists = new SharedLists();
  readonly equals = new EqualWorkers((slot) => this.#describe(slot));
  #turn = 0;
  #offerBytes = 0;

  get size(): number {
    return this.#byInstance.size;
  }

  /** What the models and tags of all workers count together. */
  get offerBytes(): number {
    return this.#offerBytes;
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

  /** Jobs assigned to or running at a provider: the provider that the worker offered when it got the job. */
  providerLoad(provider: string): number {
    return this.#loadByProvider.get(provider) ?? 0;
  }

  /** Adds a worker or replaces its record; its load and last sign of life stay. */
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
      isLockedOut: false,
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

  /** Records a sign of life. */
  noteSeen(instance: string, at: number): void {
    const member = this.#byInstance.get(instance);
    if (member === undefined) return;
    member.lastSeenAt = at;
    this.#noteFreshness(member);
    this.#unheard.set(member.slot, false);
    if (at < this.#heardAt) this.#heardAt = at;
  }

  /** Records that a claim returned a lease, or (null) that the lease has started or ended. */
  noteHanded(instance: string, jobId: string, at: number | null): void {
    const member = this.#byInstance.get(instance);
    if (member === undefined) return;
    if (at === null) member.handedAt.delete(jobId);
    else if (member.handedAt === NONE_HANDED) member.handedAt = new Map([[jobId, at]]);
    else member.handedAt.set(jobId, at);
  }

  /** Records that its socket opened or closed, that its claim began or stopped waiting, or that its key was revoked. */
  noteReach(instance: string, reach: Partial<Reach>): void {
    const member = this.#byInstance.get(instance);
    if (member === undefined) return;
    member.isConnected = reach.isConnected ?? member.isConnected;
    member.isClaiming = reach.isClaiming ?? member.isClaiming;
    member.isLockedOut = reach.isLockedOut ?? member.isLockedOut;
    this.#cutOff.set(member.slot, isCutOff(member));
    this.#connected.set(member.slot, member.isConnected);
    this.#noteFreshness(member);
  }

  remove(instance: string): void {
    const member = this.#byInstance.get(instance);
    if (member === undefined) return;
    this.#index(member, false);
    for (const bits of this.#ofState()) bits.set(member.slot, false);
    this.#giveBack(member.worker);
    this.#byInstance.delete(instance);
    this.#slots[member.slot] = undefined;
    this.equals.note(member.slot);
    this.#freeSlots.push(member.slot);
  }

  /** `provider` is what the worker offered when it got the jobs. */
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

  /** Sets for the routing filters; callers must not change them. */
  get registered(): Bits {
    return this.#registered;
  }

  get paused(): Bits {
    return this.#paused;
  }

  /** Workers that report they can take no jobs now, and those with hours, open or not. */
  get unavailable(): Bits {
    return this.#unavailable;
  }

  /** Workers that report they are busy. */
  get busy(): Bits {
    return this.#busy;
  }

  get withRoom(): Bits {
    return this.#withRoom;
  }

  /** The coordinator's own. */
  get edge(): Bits {
    return this.#edge;
  }

  get cutOff(): Bits {
    return this.#cutOff;
  }

  /**
   * A superset of the workers that are silent since then; others need no check. Most calls use the last examination;
   * the whole fleet is examined about once in the time that passes until `since`.
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

  /** Workers with an open socket that are silent since then, as far as memory knows. */
  silentButConnected(since: number): Bits {
    return this.#connected.copy().intersect(this.maybeSilent(since));
  }

  ofProvider(provider: string): Bits | undefined {
    return this.#byProvider.with(provider);
  }

  othersThan(provider: string): Bits {
    return this.#registered.copy().subtract(this.ofProvider(provider));
  }

  withTag(tag: string): Bits | undefined {
    return this.#byTag.with(tag);
  }

  /** Workers that offer the API. */
  answering(api: Api): Bits | undefined {
    return this.#byApi.with(api);
  }

  /** Workers with a pause, hours, a missing model or a trial that ends at an instant. */
  *timed(): Generator<Member> {
    for (const slot of this.#timed.members()) yield this.at(slot);
  }

  /** Workers whose runtime answered that it does not have the model, at some time. */
  missing(model: string): Bits | undefined {
    return this.#missing.with(modelKeyOf(model));
  }

  /** Workers that name the model, or whose runtime lists it, or of which neither is known. */
  servingModel(model: string): Bits {
    return this.#anyModel.copy().union(this.#models.with(model));
  }

  /** Workers that offer everything required, whatever their state. */
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
    this.#edge.set(slot, isPresent && worker.isEdge);
    if (isPresent) this.columns.setOffer(slot, worker);
    else this.columns.dropOffer(slot);
    this.#byProvider.place(worker.provider, slot, isPresent);
    for (const tag of worker.tags) this.#byTag.place(tag, slot, isPresent);
    for (const api of worker.apis) this.#byApi.place(api, slot, isPresent);
    const taken = modelsTaken(worker);
    if (taken === null) this.#anyModel.set(slot, isPresent);
    else this.#models.place(taken, slot, isPresent);
    if (worker.runtimeModels !== null) this.#runtimeModels.place(worker.runtimeModels, slot, isPresent);
    this.#offerBytes += isPresent ? offerBytesOf(worker) : -offerBytesOf(worker);
    for (const { key } of worker.missingModels) this.#missing.place(key, slot, isPresent);
  }

  /** Replaces the worker's lists by shared ones, and gives back those of the previous record that differ. */
  #sharing(worker: Worker, before: Worker | undefined): Worker {
    if (before !== undefined && isSameIndexing(before, worker)) return worker;
    const tags = this.#lists.take(worker.tags);
    const apis = this.#lists.take(worker.apis);
    const models = worker.models === null ? null : this.#models.shared(worker.models);
    const runtimeModels = worker.runtimeModels === null ? null : this.#runtimeModels.shared(worker.runtimeModels);
    if (before !== undefined) this.#giveBack(before);
    return { ...worker, tags, models, runtimeModels, apis };
  }

  #giveBack({ tags, apis }: Worker): void {
    this.#lists.giveBack(tags);
    this.#lists.giveBack(apis);
  }

  #ofState(): readonly Bits[] {
    const waits = [this.#paused, this.#unavailable, this.#busy, this.#timed, this.#withRoom];
    return [...waits, this.#cutOff, this.#connected, this.#unheard];
  }

  /** What makes workers equal for the router, besides their last sign of life and their turn. */
  #describe(slot: number): string | null {
    const worker = this.#slots[slot]?.worker;
    if (worker === undefined) return null;
    const { offer, usedShare, successRate } = this.columns;
    return `${offer[slot]} ${usedShare[slot]} ${successRate[slot]} ${worker.expiredLeases}`;
  }

  #noteRoom(member: Member): void {
    this.equals.note(member.slot);
    this.columns.usedShare[member.slot] = usedShareOf(member);
    this.#withRoom.set(member.slot, member.load < member.worker.concurrency);
  }

  #noteFreshness({ slot, isConnected, isClaiming, lastSeenAt }: Member): void {
    this.columns.seenAt[slot] = isConnected || isClaiming ? Number.POSITIVE_INFINITY : lastSeenAt;
  }

  #refresh(member: Member, nowAt: number): void {
    this.#paused.set(member.slot, pauseOf(member.worker, nowAt) !== null);
    this.#unavailable.set(member.slot, member.worker.unavailable !== null || member.worker.opening !== null);
    this.#busy.set(member.slot, member.worker.busy !== null);
    this.#timed.set(member.slot, hasInstant(member.worker));
    this.#noteRoom(member);
    this.#cutOff.set(member.slot, isCutOff(member));
  }
}

/** Share of its concurrency in use, in [0, 1]. */
export const usedShareOf = ({ worker, load }: Member): number =>
  worker.concurrency === 0 ? 1 : Math.min(1, load / worker.concurrency);

/** Its socket dropped, or its key was revoked: it keeps its leases, but cannot get a new one. */
export const isCutOff = ({ worker, isConnected, isClaiming, isLockedOut }: Member): boolean =>
  !isConnected && (isLockedOut || (worker.viaSocket && !isClaiming));

const hasInstant = ({ pause, opening, missingModels, trial }: Worker): boolean =>
  pause?.untilAt != null || opening?.changesAt != null || missingModels.length > 0 || trial !== null;

const isSameIndexing = (before: Worker, after: Worker): boolean =>
  before.provider === after.provider &&
  before.tags === after.tags &&
  before.models === after.models &&
  before.runtimeModels === after.runtimeModels &&
  before.missingModels === after.missingModels &&
  before.apis === after.apis &&
  before.machine?.bytes === after.machine?.bytes &&
  before.machine?.loaded?.id === after.machine?.loaded?.id &&
  before.tier === after.tier;
