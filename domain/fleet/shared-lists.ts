// Stores lists that many workers have in common once: ten thousand workers of one kind share one list of models. Every
// list taken must be given back; an unused list is removed.

interface Kept {
  readonly list: readonly string[];
  readonly key: string;
  takers: number;
}

const SEPARATOR = "\u0000";

export class SharedLists {
  readonly #byKey = new Map<string, Kept>();
  readonly #byList = new Map<readonly string[], Kept>();

  get size(): number {
    return this.#byKey.size;
  }

  /** The stored list that equals this one. */
  take<Item extends string>(list: readonly Item[]): readonly Item[] {
    const key = list.join(SEPARATOR);
    const kept = this.#byKey.get(key) ?? { list: [...list], key, takers: 0 };
    kept.takers += 1;
    this.#byKey.set(key, kept);
    this.#byList.set(kept.list, kept);
    return kept.list as readonly Item[];
  }

  giveBack(list: readonly string[]): void {
    const kept = this.#byList.get(list);
    if (kept === undefined) return;
    kept.takers -= 1;
    if (kept.takers > 0) return;
    this.#byKey.delete(kept.key);
    this.#byList.delete(list);
  }
}
