// Requests that wait for an event: a claim for a job, a reader for a job's end. They have no state that matters: if one
// is lost, its caller asks again.

export interface Waiter {
  /** Resolves when the key is notified, or when the time has passed. */
  readonly woken: Promise<void>;
  readonly cancel: () => void;
}

export class Waiters {
  readonly #byKey = new Map<string, Set<() => void>>();

  /** Opened before the state is read, so that no change is missed in between. */
  open(key: string, maxMs: number): Waiter {
    const { promise, resolve } = Promise.withResolvers<void>();
    const peers = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, peers);
    const end = (): void => {
      clearTimeout(timer);
      peers.delete(end);
      if (peers.size === 0 && this.#byKey.get(key) === peers) this.#byKey.delete(key);
      resolve();
    };
    const timer = setTimeout(end, maxMs);
    peers.add(end);
    return { woken: promise, cancel: end };
  }

  /** Nobody waits. */
  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  notify(key: string): void {
    const ends = this.#byKey.get(key);
    if (ends !== undefined) for (const end of [...ends]) end();
  }

  notifyAll(prefix: string): void {
    for (const key of [...this.#byKey.keys()]) if (key.startsWith(prefix)) this.notify(key);
  }
}
