// The fleet in memory: every registered worker with its load, indexed by its offer and by its state. An index over
// stored records, rebuilt on waking. Liveness is computed on demand; cached bits only say which workers can be skipped.

import { Bits, type ReadonlyBits } from "./bits.ts";
import { Columns } from "./columns.ts";
import { EqualWorkers } from "./equal-workers.ts";
import { isSameIndexing, OfferIndex, type Offers } from "./offer-index.ts";
import { successRateOf } from "./outcomes.ts";
import { pauseOf, type Worker } from "./worker.ts";

/** Whether a worker can get a job at once. */
interface Reach {
  /** Its socket is open. */
  readonly isConnected: boolean;
  /** One of its claims is waiting. */
  readonly isClaiming: boolean;
  /** The key of its last report has ended: revoked, suspended, or of a person who was blocked. */
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
  /** Characters of unstarted leases that answers to its reports had since that time. */
  readonly told: { sinceAt: number; chars: number };
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };
type Slot = Mutable<Omit<Member, "handedAt">> & { handedAt: Map<string, number> };
/** Most workers have none, so they share one map, which stays empty. */
const NONE_HANDED = new Map<string, number>();

type IsIn = (member: Member, nowAt: number) => boolean;

/** The sets of workers that the filters read beside the offers: which workers each has. */
const IN_SETS = {
  paused: ({ worker }, nowAt) => pauseOf(worker, nowAt) !== null,
  /** Workers that report they can take no jobs now, and those with hours, open or not. */
  unavailable: ({ worker }) => worker.unavailable !== null || worker.opening !== null,
  /** Workers that report they are busy. */
  busy: ({ worker }) => worker.busy !== null,
  /** Something of their record ends at an instant. */
  timed: ({ worker }) => hasInstant(worker),
  withRoom: ({ worker, load }) => load < worker.concurrency,
  cutOff: (member) => isCutOff(member),
  connected: ({ isConnected }) => isConnected,
} satisfies Record<string, IsIn>;

type SetName = keyof typeof IN_SETS;
const SET_NAMES = Object.keys(IN_SETS) as SetName[];

interface SetRow {
  readonly isIn: IsIn;
  readonly bits: Bits;
}

export class Fleet {
  readonly columns = new Columns();
  readonly #slots: (Slot | undefined)[] = [];
  readonly #freeSlots: number[] = [];
  readonly #byInstance = new Map<string, Slot>();
  readonly #offers = new OfferIndex();
  readonly #sets = Object.fromEntries(SET_NAMES.map((name) => [name, new Bits()])) as Record<SetName, Bits>;
  /** As an array: a loop over names costs each report a tenth of a microsecond more. */
  readonly #rows = SET_NAMES.map((name): SetRow => ({ isIn: IN_SETS[name], bits: this.#sets[name] }));
  /** Silent when the whole fleet was last examined; all others reported at `#heardAt` or later. */
  readonly #unheard = new Bits();
  #heardAt = Number.POSITIVE_INFINITY;
  readonly #loadByProvider = new Map<string, number>();
  readonly equals = new EqualWorkers((slot) => this.#describe(slot));
  #turn = 0;

  get size(): number {
    return this.#byInstance.size;
  }

  /** Which workers offer what. */
  get offers(): Offers {
    return this.#offers;
  }

  get sets(): Readonly<Record<SetName, ReadonlyBits>> {
    return this.#sets;
  }

  members(): IterableIterator<Member> {
    return this.#byInstance.values();
  }

  /** null: of a job that no worker holds. */
  get(instance: string | null): Member | undefined {
    return instance === null ? undefined : this.#byInstance.get(instance);
  }

  at(slot: number): Member {
    const member = this.#slots[slot];
    if (member === undefined) throw new Error(`no worker in slot ${slot}`);
    return member;
  }

  /** Jobs assigned to or running at a provider: the provider that the worker offered when it got the job. */
  providerLoad(provider: string): number {
    return this.#loadByProvider.get(provider) ?? 0;
  }

  /** Adds a worker or replaces its record; its load and last sign of life stay. */
  put(given: Worker, nowAt: number): Member {
    const known = this.#byInstance.get(given.instance);
    const worker = this.#offers.sharing(given, known?.worker);
    if (known !== undefined) {
      const before = known.worker;
      const isMoved = !isSameIndexing(before, worker);
      if (isMoved) this.#index(known, false);
      known.worker = worker;
      if (isMoved) this.#index(known, true);
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
      told: { sinceAt: 0, chars: 0 },
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
    this.#sets.cutOff.set(member.slot, IN_SETS.cutOff(member));
    this.#sets.connected.set(member.slot, IN_SETS.connected(member));
    this.#noteFreshness(member);
  }

  remove(instance: string): void {
    const member = this.#byInstance.get(instance);
    if (member === undefined) return;
    this.#index(member, false);
    for (const { bits } of this.#rows) bits.set(member.slot, false);
    this.#unheard.set(member.slot, false);
    this.#offers.giveBack(member.worker);
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
    this.#noteLoad(member);
    if (change > 0) {
      this.#turn += 1;
      member.lastTurn = this.#turn;
      this.columns.lastTurn[member.slot] = this.#turn;
    }
  }

  /**
   * A superset of the workers that are silent since then; others need no check. Most calls use the last examination;
   * the whole fleet is examined about once in the time that passes until `since`.
   */
  maybeSilent(since: number): ReadonlyBits {
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
    return this.#sets.connected.copy().intersect(this.maybeSilent(since));
  }

  /** Workers with a pause, hours, a missing model or a trial that ends at an instant. */
  *timed(): Generator<Member> {
    for (const slot of this.#sets.timed.members()) yield this.at(slot);
  }

  #index({ worker, slot }: Member, isPresent: boolean): void {
    this.#offers.place(worker, slot, isPresent);
    if (isPresent) this.columns.setOffer(slot, worker);
    else this.columns.dropOffer(slot);
  }

  /** What makes workers equal for the router, besides their last sign of life and their turn. */
  #describe(slot: number): string | null {
    const worker = this.#slots[slot]?.worker;
    if (worker === undefined) return null;
    const { offer, usedShare, successRate } = this.columns;
    return `${offer[slot]} ${usedShare[slot]} ${successRate[slot]} ${worker.expiredLeases}`;
  }

  #noteLoad(member: Member): void {
    this.equals.note(member.slot);
    this.columns.usedShare[member.slot] = usedShareOf(member);
    this.#sets.withRoom.set(member.slot, IN_SETS.withRoom(member));
  }

  #noteFreshness({ slot, isConnected, isClaiming, lastSeenAt }: Member): void {
    this.columns.seenAt[slot] = isConnected || isClaiming ? Number.POSITIVE_INFINITY : lastSeenAt;
  }

  #refresh(member: Member, nowAt: number): void {
    for (const { isIn, bits } of this.#rows) bits.set(member.slot, isIn(member, nowAt));
    this.#noteLoad(member);
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
