// Classes of workers that are equal for every job: same offer, load and record. Each class is a list in the order of the
// last assignment. Of a class only the two that were given a job longest ago can be chosen or come second, so of
// thousands of equal workers a few are looked at. Lists are updated when they are needed: a small fleet pays for none.

import { Bits } from "./bits.ts";
import type { Columns } from "./columns.ts";
import { MAX_MISSED_BEATS, missedBeatsIn, type PresenceFacts } from "./freshness.ts";
import { Numbering } from "./numbering.ts";

/** With fewer workers for each class on average, looking for the foremost costs more than comparing all. */
const WORTHWHILE = 8;
/** Passing over a worker that may not have the job costs about half as much as comparing a worker that may. */
const PASSES_A_WORKER = 2;
/** No class, or the end of a list. */
const NONE = -1;

export class EqualWorkers {
  /** What the worker in a slot has in common with its equals; null for an empty slot. */
  readonly #describe: (slot: number) => string | null;
  readonly #classes = new Numbering();
  /** By class: the ends of its list. */
  readonly #first: number[] = [];
  readonly #last: number[] = [];
  /** By slot: its class, and its neighbours in the list. */
  #classOf = new Int32Array(0);
  #before = new Int32Array(0);
  #after = new Int32Array(0);
  /** Workers in all lists. */
  #size = 0;
  readonly #changed = new Set<number>();

  constructor(describe: (slot: number) => string | null) {
    this.#describe = describe;
  }

  /** The worker in this slot has come, changed, been given a job or gone. */
  note(slot: number): void {
    this.#changed.add(slot);
  }

  /** The workers that no two equal ones precede; all of them if few are equal. */
  foremost(among: Bits, columns: Columns, facts: PresenceFacts): Bits {
    this.#update(columns);
    const count = among.count();
    // The fewer of all workers they are, the more others are passed over before two of a class are found.
    const share = count / this.#size;
    if (count * share < this.#classes.limit * WORTHWHILE) return among;
    return this.#firstTwoOfEach(among, columns, facts) ?? among;
  }

  /**
   * Of each class and freshness the first two; a worker behind two that missed no heartbeat is preceded by both. Null if
   * too many had to be passed over.
   */
  #firstTwoOfEach(among: Bits, { seenAt }: Columns, facts: PresenceFacts): Bits | null {
    const missedBeats = missedBeatsIn(facts);
    const foremost = new Bits(new Uint32Array(among.words.length));
    const found = new Uint8Array(MAX_MISSED_BEATS + 1);
    let passes = among.count() * PASSES_A_WORKER;
    for (const first of this.#first) {
      found.fill(0);
      for (let slot = first; slot !== NONE && found[0] !== 2; slot = this.#after[slot] as number) {
        passes -= 1;
        if (passes < 0) return null;
        const missed = missedBeats(seenAt[slot] as number);
        const known = found[missed] as number;
        if (known === 2 || !among.has(slot)) continue;
        found[missed] = known + 1;
        foremost.set(slot);
      }
    }
    return foremost;
  }

  /** All that changed leave their lists first: those that stay are in order. */
  #update({ lastTurn }: Columns): void {
    for (const slot of this.#changed) this.#leave(slot);
    for (const slot of this.#changed) this.#enter(slot, lastTurn);
    this.#changed.clear();
  }

  #leave(slot: number): void {
    this.#reach(slot);
    const kind = this.#classOf[slot] as number;
    if (kind === NONE) return;
    this.#join(kind, this.#before[slot] as number, this.#after[slot] as number);
    this.#classOf[slot] = NONE;
    this.#classes.giveBack(kind);
    this.#size -= 1;
  }

  /** Those that return to a class mostly go to its end, and after a long job to its beginning. */
  #enter(slot: number, lastTurn: Float64Array): void {
    const name = this.#describe(slot);
    if (name === null) return;
    const kind = this.#classes.take(name);
    this.#classOf[slot] = kind;
    this.#size += 1;
    const precedes = (other: number): boolean => {
      const [turn, otherTurn] = [lastTurn[slot] as number, lastTurn[other] as number];
      return turn === otherTurn ? slot < other : turn < otherTurn;
    };
    const first = this.#first[kind] ?? NONE;
    let before = first === NONE || precedes(first) ? NONE : (this.#last[kind] as number);
    while (before !== NONE && precedes(before)) before = this.#before[before] as number;
    const after = before === NONE ? first : (this.#after[before] as number);
    this.#join(kind, before, slot);
    this.#join(kind, slot, after);
  }

  /** Makes them neighbours; `NONE` is an end of the list. */
  #join(kind: number, before: number, after: number): void {
    if (before === NONE) this.#first[kind] = after;
    else this.#after[before] = after;
    if (after === NONE) this.#last[kind] = before;
    else this.#before[after] = before;
  }

  #reach(slot: number): void {
    if (slot < this.#classOf.length) return;
    const length = Math.max(slot + 1, this.#classOf.length * 2);
    this.#classOf = widened(this.#classOf, length);
    this.#before = widened(this.#before, length);
    this.#after = widened(this.#after, length);
  }
}

const widened = (from: Int32Array, length: number): Int32Array<ArrayBuffer> => {
  const longer = new Int32Array(length).fill(NONE);
  longer.set(from);
  return longer;
};
