// A map that can be read as it was: the entries are with the latest version, and an earlier one keeps what the next one
// changed. So a change costs what it changes, not a copy.

export class VersionedMap<V> implements Iterable<[string, V]> {
  readonly #entries: Map<string, V>;
  #next: VersionedMap<V> | null = null;
  /** What was under the keys that the next version changed. */
  #former: ReadonlyMap<string, V | undefined> = new Map();

  constructor(entries: Map<string, V> = new Map()) {
    this.#entries = entries;
  }

  /** The next version; undefined removes a key. This one if nothing changes. */
  with(changes: Iterable<readonly [string, V | undefined]>): VersionedMap<V> {
    if (this.#next !== null) throw new Error("only the latest version can change");
    const former = new Map<string, V | undefined>();
    for (const [key, value] of changes) {
      const was = this.#entries.get(key);
      if (was === value) continue;
      former.set(key, was);
      if (value === undefined) this.#entries.delete(key);
      else this.#entries.set(key, value);
    }
    if (former.size === 0) return this;
    this.#former = former;
    this.#next = new VersionedMap(this.#entries);
    return this.#next;
  }

  get(key: string): V | undefined {
    if (this.#next === null) return this.#entries.get(key);
    return this.#former.has(key) ? this.#former.get(key) : this.#next.get(key);
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  keys(): Iterable<string> {
    return this.#all().keys();
  }

  values(): Iterable<V> {
    return this.#all().values();
  }

  [Symbol.iterator](): Iterator<[string, V]> {
    return this.#all()[Symbol.iterator]();
  }

  #all(): Map<string, V> {
    if (this.#next === null) return this.#entries;
    const entries = new Map(this.#next.#all());
    for (const [key, value] of this.#former)
      if (value === undefined) entries.delete(key);
      else entries.set(key, value);
    return entries;
  }
}
