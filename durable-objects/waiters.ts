// Requests that wait for something to happen: a claim for a job, a reader for a job's end. They hold no state that
// matters: one that is lost asks again.

export class Waiters {
  readonly #byKey = new Map<string, Set<() => void>>();

  /** Resolves when `notify(key)` is called, or after `maxMs`. */
  wait(key: string, maxMs: number): Promise<void> {
    return new Promise((resolve) => {
      const peers = this.#byKey.get(key) ?? new Set();
      this.#byKey.set(key, peers);
      const end = (): void => {
        clearTimeout(timer);
        peers.delete(end);
        if (peers.size === 0) this.#byKey.delete(key);
        resolve();
      };
      const timer = setTimeout(end, maxMs);
      peers.add(end);
    });
  }

  notify(key: string): void {
    for (const end of [...(this.#byKey.get(key) ?? [])]) end();
  }

  notifyAll(): void {
    for (const key of [...this.#byKey.keys()]) this.notify(key);
  }
}
