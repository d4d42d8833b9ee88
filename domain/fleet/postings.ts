// Which workers have a feature: one slot, a short list of slots while they are few, a set of bits once they are many, so
// that a tag of one worker takes a few bytes.

import { Bits, type ReadonlyBits } from "./bits.ts";

const MAX_LISTED = 32;

class Posting {
  #few: number[] = [];
  #many: Bits | null = null;
  #count = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  get bits(): Bits {
    if (this.#many !== null) return this.#many;
    const bits = new Bits();
    for (const slot of this.#few) bits.set(slot);
    return bits;
  }

  set(slot: number, isPresent: boolean): void {
    if (this.#has(slot) === isPresent) return;
    this.#count += isPresent ? 1 : -1;
    if (this.#many !== null) this.#many.set(slot, isPresent);
    else if (!isPresent) this.#few = this.#few.filter((one) => one !== slot);
    else if (this.#few.length < MAX_LISTED) this.#few.push(slot);
    else {
      this.#many = this.bits;
      this.#many.set(slot);
      this.#few = [];
    }
  }

  #has(slot: number): boolean {
    return this.#many === null ? this.#few.includes(slot) : this.#many.has(slot);
  }
}

/** The slots of each value of one feature. */
export class Postings {
  /** A number is the only slot. */
  readonly #byValue = new Map<string, Posting | number>();

  values(): IterableIterator<string> {
    return this.#byValue.keys();
  }

  with(value: string): ReadonlyBits | undefined {
    const known = this.#byValue.get(value);
    if (typeof known !== "number") return known?.bits;
    const only = new Bits();
    only.set(known);
    return only;
  }

  has(value: string): boolean {
    return this.#byValue.has(value);
  }

  place(value: string, slot: number, isPresent: boolean): void {
    const known = this.#byValue.get(value);
    if (known === undefined) {
      if (isPresent) this.#byValue.set(value, slot);
      return;
    }
    if (known === slot) {
      if (!isPresent) this.#byValue.delete(value);
      return;
    }
    const posting = typeof known === "number" ? this.#widened(value, known) : known;
    posting.set(slot, isPresent);
    if (posting.isEmpty) this.#byValue.delete(value);
  }

  #widened(value: string, slot: number): Posting {
    const posting = new Posting();
    posting.set(slot, true);
    this.#byValue.set(value, posting);
    return posting;
  }
}
