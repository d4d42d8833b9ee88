// A growing set of small integers, one bit each: ten thousand workers are 313 words, so intersecting the sets of a
// job's requirements costs less than examining one worker.

/** A set that only its owner changes; a copy of it may be changed. */
export type ReadonlyBits = Pick<
  Bits,
  "words" | "isKnownEmpty" | "has" | "copy" | "meets" | "first" | "count" | "members"
>;

export class Bits {
  #words: Uint32Array;
  /** How many members it has; null if that is not known. */
  #count: number | null;

  constructor(words: Uint32Array = new Uint32Array(4), count: number | null = 0) {
    this.#words = words;
    this.#count = count;
  }

  get words(): Uint32Array {
    return this.#words;
  }

  /** Without counting. */
  get isKnownEmpty(): boolean {
    return this.#count === 0;
  }

  set(index: number, isSet = true): void {
    const word = index >>> 5;
    if (word >= this.#words.length) {
      if (!isSet) return;
      this.#widen(Math.max(word + 1, this.#words.length * 2));
    }
    const mask = 1 << (index & 31);
    const before = this.#words[word] ?? 0;
    if (((before & mask) !== 0) === isSet) return;
    this.#words[word] = before ^ mask;
    if (this.#count !== null) this.#count += isSet ? 1 : -1;
  }

  has(index: number): boolean {
    return ((this.#words[index >>> 5] ?? 0) & (1 << (index & 31))) !== 0;
  }

  copy(): Bits {
    return new Bits(this.#words.slice(), this.#count);
  }

  /** Keeps the members that the other set also has; a missing set counts as empty. */
  intersect(other: ReadonlyBits | undefined): this {
    const ours = this.#words;
    const theirs = other?.words ?? NONE;
    const shared = Math.min(ours.length, theirs.length);
    for (let word = 0; word < shared; word += 1) ours[word] = at(ours, word) & at(theirs, word);
    ours.fill(0, shared);
    this.#count = null;
    return this;
  }

  union(other: ReadonlyBits | undefined): this {
    if (other === undefined) return this;
    const theirs = other.words;
    if (theirs.length > this.#words.length) this.#widen(theirs.length);
    const ours = this.#words;
    for (let word = 0; word < theirs.length; word += 1) ours[word] = at(ours, word) | at(theirs, word);
    this.#count = null;
    return this;
  }

  subtract(other: ReadonlyBits | undefined): this {
    if (other === undefined || other.isKnownEmpty) return this;
    const ours = this.#words;
    const theirs = other.words;
    const shared = Math.min(ours.length, theirs.length);
    for (let word = 0; word < shared; word += 1) ours[word] = at(ours, word) & ~at(theirs, word);
    this.#count = null;
    return this;
  }

  /** Removes the members that fail the test; tests only members of `within`, if given. */
  keepIf(test: (index: number) => boolean, within: ReadonlyBits | null = null): this {
    if (within?.isKnownEmpty) return this;
    const words = this.#words;
    for (let word = 0; word < words.length; word += 1) {
      let rest = at(words, word) & (within === null ? -1 : (within.words[word] ?? 0));
      while (rest !== 0) {
        const bit = rest & -rest;
        if (!test((word << 5) + (31 - Math.clz32(bit)))) words[word] = at(words, word) & ~bit;
        rest ^= bit;
      }
    }
    this.#count = null;
    return this;
  }

  /** Whether the sets have a member in common. */
  meets(other: ReadonlyBits | undefined): boolean {
    const theirs = other?.words ?? NONE;
    return this.#words.some((word, index) => (word & (theirs[index] ?? 0)) !== 0);
  }

  /** The smallest member from here on, or -1. */
  first(from = 0): number {
    const words = this.#words;
    let word = from >>> 5;
    if (word >= words.length) return -1;
    let rest = at(words, word) & (-1 << (from & 31));
    while (rest === 0) {
      word += 1;
      if (word === words.length) return -1;
      rest = at(words, word);
    }
    return (word << 5) + (31 - Math.clz32(rest & -rest));
  }

  count(): number {
    this.#count ??= membersIn(this.#words);
    return this.#count;
  }

  /** All members in order, as an array, because iterating it costs far less than a callback per member. */
  members(): Uint32Array {
    const words = this.#words;
    const found = new Uint32Array(this.count());
    let next = 0;
    for (let word = 0; word < words.length; word += 1) {
      let rest = at(words, word);
      while (rest !== 0) {
        const bit = rest & -rest;
        found[next] = (word << 5) + (31 - Math.clz32(bit));
        next += 1;
        rest ^= bit;
      }
    }
    return found;
  }

  #widen(length: number): void {
    const wider = new Uint32Array(length);
    wider.set(this.#words);
    this.#words = wider;
  }
}

const NONE = new Uint32Array(0);

/** A word whose index is in range. */
const at = (words: Uint32Array, word: number): number => words[word] as number;

const membersIn = (words: Uint32Array): number => {
  let total = 0;
  for (let word = 0; word < words.length; word += 1) {
    const bits = at(words, word);
    if (bits !== 0) total += popcount(bits);
  }
  return total;
};

const popcount = (word: number): number => {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return (((nibbles + (nibbles >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
};
