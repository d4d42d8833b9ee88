// A set that costs nothing until something is added: most of what a turn may leave to do, it does not.

/** Already at its end, so that all may share it. */
const NOTHING: IterableIterator<never> = [].values();
NOTHING.next();

export class LazySet<T> implements Iterable<T> {
  #set: Set<T> | null = null;

  get size(): number {
    return this.#set?.size ?? 0;
  }

  add(value: T): void {
    this.#set ??= new Set();
    this.#set.add(value);
  }

  delete(value: T): void {
    this.#set?.delete(value);
  }

  has(value: T): boolean {
    return this.#set?.has(value) ?? false;
  }

  [Symbol.iterator](): IterableIterator<T> {
    return this.#set?.values() ?? NOTHING;
  }
}
