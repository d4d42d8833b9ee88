// A cache of what was kept last. Of a table's records, so that the next step of a job or the next call of a key needs no
// query: every write of a row goes through its table, which updates the cache; a rollback clears it.

export class Recent<T> {
  readonly #limit: number;
  readonly #byId = new Map<string, T>();
  /**
   * Stands before the oldest entry. A new iterator passes all entries that were deleted since the map last grew, and an
   * old one keeps alive what has been in the map since it was made: so there is a new one whenever as many have come as
   * there is room for.
   */
  #oldest = this.#byId.keys();
  /** Entries that came since it was made. */
  #cameSince = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(id: string): T | undefined {
    return this.#byId.get(id);
  }

  values(): Iterable<T> {
    return this.#byId.values();
  }

  /** Replaces the oldest entry if the cache is full. */
  keep(id: string, value: T): void {
    this.#byId.set(id, value);
    if (this.#byId.size > this.#limit) this.#dropOldest();
    this.#cameSince += 1;
    if (this.#cameSince < this.#limit) return;
    this.#oldest = this.#byId.keys();
    this.#cameSince = 0;
  }

  #dropOldest(): void {
    const oldest = this.#oldest.next().value;
    if (oldest !== undefined) this.#byId.delete(oldest);
  }

  drop(id: string): void {
    this.#byId.delete(id);
  }

  clear(): void {
    this.#byId.clear();
  }
}
