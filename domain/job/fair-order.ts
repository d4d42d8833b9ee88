// Whose job is next among equal jobs: of one requirement group and one priority, the flow that has been served least.
// What a flow was served is its virtual time: tokens divided by its weight, estimated when a job is given to a worker
// and corrected when it ends. A flow that comes back from idleness begins at the time of the flow served last, so it has
// no credit. Somebody is always next while anybody waits. No flow is passed over for longer than `LONGEST_UNSERVED_MS`.

import { MINUTE_MS } from "../words/duration.ts";
import { Heap, type Heaped } from "./heap.ts";

/** The outer bound: a flow that waits, and was not served for this long, goes before those that were served less. */
export const LONGEST_UNSERVED_MS = 30 * MINUTE_MS;

/** Flows that are remembered although nothing of theirs waits or runs, because they were served more than others. */
export const MAX_INDEBTED = 10_000;

/** An answer's tokens while nothing is known of its flow. */
const USUAL_OUTPUT_TOKENS = 256;

/** How much a new answer counts in a flow's mean. */
const NEWEST_COUNTS = 0.2;

/** What one lease was charged for. It is kept with the job, so that an object that wakes knows what flows were served. */
export interface Charge {
  /** The order key of the job whose turn it took: the first of its group. */
  readonly place: number;
  /** The flow's virtual time before it. */
  readonly from: number;
  readonly tokens: number;
  readonly weight: number;
}

/** What is known of a job that a worker gets. */
export interface Chargeable {
  readonly place: number;
  readonly inputTokens: number;
  /** null: the request does not bound them. */
  readonly outputTokens: number | null;
}

interface Flow extends Heaped {
  readonly name: string;
  weight: number;
  /** Its jobs that wait and may run now. */
  waiting: number;
  /** Its jobs that workers hold. */
  held: number;
  /** Its virtual time. */
  time: number;
  /** Smaller: it began to wait, or was served, earlier. Decides between equal times. */
  turn: number;
  /** When that was. */
  sinceAt: number;
  meanOutput: number;
  /** What its last job was charged for. */
  lastTokens: number;
}

/** A flow as it stands among those that wait. */
export interface WaitingFlow {
  readonly name: string;
  readonly weight: number;
  readonly waiting: number;
  /** The flow's part of what is served, in (0, 1]. */
  readonly share: number;
  /** Its virtual time. */
  readonly time: number;
  /** When it began to wait, or was served. */
  readonly sinceAt: number;
  /** Another one after each time. */
  readonly turn: number;
}

/** How many more flows may be remembered for their debts; shared by all orders of a tenant. */
interface Debts {
  left: number;
}

/** How many flows are looked at to count the jobs before one. */
const MAX_COUNTED_FLOWS = 1_000;

export class FairOrder {
  readonly #flows = new Map<string, Flow>();
  readonly #waiting = new Heap<Flow>((one, other) =>
    one.time !== other.time ? one.time < other.time : one.turn < other.turn,
  );
  /** Those that wait, the longest unserved first. */
  readonly #unserved = new Set<Flow>();
  /** Those of which nothing waits or runs, and that were served more than the clock says. */
  readonly #indebted = new Set<Flow>();
  readonly #debts: Debts;
  /** The virtual time at which a flow was served last. */
  #clock = 0;
  #turns = 0;
  #weight = 0;
  #held = 0;

  constructor(debts: Debts) {
    this.#debts = debts;
  }

  /** How many flows wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Nobody waits and nobody is served: what was served before does not matter any more. */
  get isOver(): boolean {
    return this.#waiting.size === 0 && this.#held === 0;
  }

  waitingOf(name: string): number {
    return this.#flows.get(name)?.waiting ?? 0;
  }

  heldOf(name: string): number {
    return this.#flows.get(name)?.held ?? 0;
  }

  /** Jobs of a flow begin to wait. */
  join(name: string, weight: number, nowAt: number, count = 1): void {
    const flow = this.#found(name, weight);
    if (flow.waiting === 0) {
      flow.time = Math.max(flow.time, this.#clock);
      flow.weight = weight;
      this.#weight += weight;
      this.#waiting.add(flow);
      this.#note(flow, nowAt);
    }
    flow.waiting += count;
  }

  /** A job of a flow waits no longer. */
  leave(name: string): void {
    const flow = this.#flows.get(name);
    if (flow === undefined || flow.waiting === 0) return;
    flow.waiting -= 1;
    if (flow.waiting > 0) return;
    this.#waiting.remove(flow);
    this.#unserved.delete(flow);
    this.#weight = this.#waiting.size === 0 ? 0 : this.#weight - flow.weight;
    this.#forget(flow);
  }

  /** What a flow's next job is charged for. */
  charge(name: string, weight: number, { place, inputTokens, outputTokens }: Chargeable): Charge {
    const flow = this.#flows.get(name);
    // A flow that waits has its time, also where a correction has set it before the clock.
    const from = flow !== undefined && flow.at >= 0 ? flow.time : Math.max(flow?.time ?? 0, this.#clock);
    const output = outputTokens ?? flow?.meanOutput ?? USUAL_OUTPUT_TOKENS;
    return { place, from, tokens: Math.max(1, Math.round(inputTokens + output)), weight };
  }

  /** A worker has got a job of a flow; `charge` is null if it was charged elsewhere. */
  serve(name: string, charge: Charge | null, nowAt: number): void {
    const flow = this.#found(name, charge?.weight ?? 1);
    this.#held += 1;
    flow.held += 1;
    if (charge === null) return;
    // A flow that was unserved for too long may be far ahead of the others that wait.
    this.#clock = Math.max(this.#clock, Math.min(charge.from, this.#waiting.first?.time ?? charge.from));
    flow.time = Math.max(flow.time, charge.from + charge.tokens / charge.weight);
    flow.lastTokens = charge.tokens;
    this.#reweigh(flow, charge.weight);
    this.#note(flow, nowAt);
  }

  /** What a job took, where it is known. */
  correct(name: string, charge: Charge, tokens: number, outputTokens: number): void {
    const flow = this.#flows.get(name);
    if (flow === undefined) return;
    flow.meanOutput += (outputTokens - flow.meanOutput) * NEWEST_COUNTS;
    this.#add(flow, (tokens - charge.tokens) / charge.weight);
  }

  /** A worker holds a job of a flow no longer; `unworked` is the charge of a job that was given back. */
  end(name: string, unworked: Charge | null): void {
    const flow = this.#flows.get(name);
    if (flow === undefined || flow.held === 0) return;
    this.#held -= 1;
    flow.held -= 1;
    if (unworked !== null) this.#add(flow, -unworked.tokens / unworked.weight);
    if (flow.waiting === 0) this.#forget(flow);
  }

  /** The flow whose job is next; null if nobody waits. */
  next(nowAt: number): string | null {
    const [longest] = this.#unserved;
    if (longest === undefined) return null;
    if (nowAt - longest.sinceAt > LONGEST_UNSERVED_MS) return longest.name;
    return this.#waiting.first?.name ?? null;
  }

  /** Those that wait, the next first. */
  *waitingFlows(): Generator<WaitingFlow> {
    for (const flow of this.#waiting.inOrder()) yield this.#waitingFlow(flow);
  }

  waitingFlow(name: string): WaitingFlow | null {
    const flow = this.#flows.get(name);
    return flow === undefined || flow.waiting === 0 ? null : this.#waitingFlow(flow);
  }

  /**
   * About how many jobs of other flows go before a job of this one that has `own` jobs of its flow before it; at least
   * so many if `isMore`.
   */
  othersBefore(name: string, own: number): { readonly count: number; readonly isMore: boolean } {
    const flow = this.#flows.get(name);
    if (flow === undefined) return { count: 0, isMore: false };
    const time = flow.time + (own * flow.lastTokens) / flow.weight;
    let [count, looked] = [0, 0];
    for (const other of this.#waiting.inOrder()) {
      if (other.time > time || (other.time === time && other.turn > flow.turn)) break;
      if (other === flow) continue;
      looked += 1;
      if (looked > MAX_COUNTED_FLOWS) return { count, isMore: true };
      const served = Math.ceil(((time - other.time) * other.weight) / other.lastTokens);
      count += Math.min(other.waiting, Math.max(1, served));
    }
    return { count, isMore: false };
  }

  /** It is dropped: what it remembers of idle flows, too. */
  drop(): void {
    this.#debts.left += this.#indebted.size;
  }

  #waitingFlow({ name, weight, waiting, time, sinceAt, turn }: Flow): WaitingFlow {
    return { name, weight, waiting, share: Math.min(1, weight / this.#weight), time, sinceAt, turn };
  }

  #found(name: string, weight: number): Flow {
    const known = this.#flows.get(name);
    if (known !== undefined) {
      if (this.#indebted.delete(known)) this.#debts.left += 1;
      return known;
    }
    const [meanOutput, lastTokens] = [USUAL_OUTPUT_TOKENS, USUAL_OUTPUT_TOKENS];
    const made = { name, weight, waiting: 0, held: 0, time: 0, turn: 0, sinceAt: 0, meanOutput, lastTokens, at: -1 };
    this.#flows.set(name, made);
    return made;
  }

  /** It begins to wait, or was served. */
  #note(flow: Flow, nowAt: number): void {
    this.#turns += 1;
    flow.turn = this.#turns;
    flow.sinceAt = nowAt;
    if (flow.at < 0) return;
    this.#waiting.moved(flow);
    this.#unserved.delete(flow);
    this.#unserved.add(flow);
  }

  #add(flow: Flow, time: number): void {
    flow.time += time;
    if (flow.at >= 0) this.#waiting.moved(flow);
  }

  #reweigh(flow: Flow, weight: number): void {
    if (flow.at >= 0) this.#weight += weight - flow.weight;
    flow.weight = weight;
  }

  /** Of a flow that is idle only a debt is remembered, as long as it is one. */
  #forget(flow: Flow): void {
    if (flow.held > 0) return;
    for (const other of this.#indebted) {
      if (other.time > this.#clock) break;
      this.#forgive(other);
    }
    if (flow.time <= this.#clock || this.#debts.left <= 0) {
      this.#flows.delete(flow.name);
      return;
    }
    this.#debts.left -= 1;
    this.#indebted.add(flow);
  }

  #forgive(flow: Flow): void {
    this.#flows.delete(flow.name);
    if (this.#indebted.delete(flow)) this.#debts.left += 1;
  }
}
