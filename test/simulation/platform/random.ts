// Seeded randomness: the same seed gives the same run on any machine.

const UINT32 = 2 ** 32;

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). Mulberry32. */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / UINT32;
  };

  /** One of the values, as often as its weight says. */
  weighted<T>(choices: readonly (readonly [T, number])[]): T {
    let left = this.next() * choices.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [value, weight] of choices) {
      left -= weight;
      if (left < 0) return value;
    }
    return (choices[0] as readonly [T, number])[0];
  }
}

/** The element that a number in [0, 1) selects; undefined for an empty list. */
export const pickOf = <T>(list: readonly T[], chance: number): T | undefined => list[Math.floor(chance * list.length)];

/** An element of a list that is never empty. */
export const oneOf = <T>(list: readonly [T, ...T[]], chance: number): T => pickOf(list, chance) ?? list[0];
