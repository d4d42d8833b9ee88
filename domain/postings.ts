// Which workers have a feature: a short list of slots while they are few, a set of bits once they are many, so that a
// tag of one worker takes a few bytes.

import { Bits } from "./bits.ts";

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
  readonly #byValue = new Map<string, Posting>();

  values(): IterableIterator<string> {
    return this.#byValue.keys();
  }

  /** Callers must not change it. */
  with(value: string): Bits | undefined {
    return this.#byValue.get(value)?.bits;
  }

  place(value: string, slot: number, isPresent: boolean): void {
    const known = this.#byValue.get(value);
    if (known === undefined) {
      if (!isPresent) return;
      const posting = new Posting();
      posting.set(slot, true);
      this.#byValue.set(value, posting);
      return;
    }
    known.set(slot, isPresent);
    if (known.isEmpty) this.#byValue.delete(value);
  }
}
