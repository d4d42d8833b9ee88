// A cache of records written or read recently, so that the next step of a job or the next call of a key needs no query.
// Every write of a row goes through its table, which updates the cache; a rollback clears it.

export class Recent<T> {
  readonly #limit: number;
  readonly #byId = new Map<string, T>();
  /** Stands before the oldest entry: a new iterator would pass all entries that were deleted since the map last grew. */
  readonly #oldest = this.#byId.keys();

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
    if (this.#byId.size <= this.#limit) return;
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
