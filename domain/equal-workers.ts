// Classes of workers that are equal for every job: same offer, load and record. Of a class only the two that were given
// a job longest ago can be chosen or come second, so of thousands of equal workers a few are compared. A worker's class
// is looked up when it is needed: a small fleet pays for none.

import { Bits } from "./bits.ts";
import type { Columns } from "./columns.ts";
import { MAX_MISSED_BEATS, missedBeatsIn, type PresenceFacts } from "./freshness.ts";
import { Numbering } from "./numbering.ts";

/** With fewer workers for each class on average, looking for the foremost costs more than it saves. */
const WORTHWHILE = 8;
const NO_CLASS = -1;

export class EqualWorkers {
  /** What the worker in a slot has in common with its equals; null for an empty slot. */
  readonly #describe: (slot: number) => string | null;
  readonly #classes = new Numbering();
  #classOf = new Int32Array(0);
  readonly #changed = new Set<number>();

  constructor(describe: (slot: number) => string | null) {
    this.#describe = describe;
  }

  /** The worker in this slot has come, changed or gone. */
  note(slot: number): void {
    this.#changed.add(slot);
  }

  /** The workers that no two equal ones precede; all of them if few are equal. */
  foremost(among: Bits, columns: Columns, facts: PresenceFacts): Bits {
    for (const slot of this.#changed) this.#lookUp(slot);
    this.#changed.clear();
    if (among.count() < this.#classes.limit * WORTHWHILE) return among;
    const foremost = new Bits();
    for (const slot of this.#firstTwoOfEach(among, columns, facts)) if (slot !== -1) foremost.set(slot);
    return foremost;
  }

  /** Of each class and freshness the slots of the two with the earliest turns, or -1. */
  #firstTwoOfEach({ words }: Bits, { seenAt, lastTurn }: Columns, facts: PresenceFacts): Int32Array {
    const missedBeats = missedBeatsIn(facts);
    const classOf = this.#classOf;
    const classes = this.#classes.limit;
    const places = classes * (MAX_MISSED_BEATS + 1);
    const slots = new Int32Array(2 * places).fill(-1);
    const turns = new Float64Array(2 * places).fill(Number.POSITIVE_INFINITY);
    // Written out: ten thousand times for each choice, a call costs as much as the work.
    for (let word = 0; word < words.length; word += 1) {
      for (let rest = words[word] as number; rest !== 0; rest &= rest - 1) {
        const slot = (word << 5) + (31 - Math.clz32(rest & -rest));
        const first = missedBeats(seenAt[slot] as number) * classes + (classOf[slot] as number);
        const second = first + places;
        const turn = lastTurn[slot] as number;
        if (turn >= (turns[second] as number)) continue;
        const isFirst = turn < (turns[first] as number);
        if (isFirst) {
          turns[second] = turns[first] as number;
          slots[second] = slots[first] as number;
        }
        turns[isFirst ? first : second] = turn;
        slots[isFirst ? first : second] = slot;
      }
    }
    return slots;
  }

  #lookUp(slot: number): void {
    this.#reach(slot);
    const before = this.#classOf[slot] as number;
    const name = this.#describe(slot);
    this.#classOf[slot] = name === null ? NO_CLASS : this.#classes.take(name);
    if (before !== NO_CLASS) this.#classes.giveBack(before);
  }

  #reach(slot: number): void {
    if (slot < this.#classOf.length) return;
    const longer = new Int32Array(Math.max(slot + 1, this.#classOf.length * 2)).fill(NO_CLASS);
    longer.set(this.#classOf);
    this.#classOf = longer;
  }
}
