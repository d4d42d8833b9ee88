// Requests that wait for an event: a claim for a job, a reader for a job's end. They have no state that matters: if one
// is lost, its caller asks again.

export interface Waiter {
  /** Resolves when the key is notified, or at the time; that is asked again when it has come, because it may move. */
  readonly woken: (untilAt: () => number) => Promise<void>;
  readonly cancel: () => void;
}

export class Waiters {
  readonly #byKey = new Map<string, Set<() => void>>();

  /** Opened before the state is read, so that no change is missed in between. */
  open(key: string): Waiter {
    const { promise, resolve } = Promise.withResolvers<void>();
    const peers = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, peers);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = (): void => {
      clearTimeout(timer);
      peers.delete(end);
      if (peers.size === 0 && this.#byKey.get(key) === peers) this.#byKey.delete(key);
      resolve();
    };
    const woken = (untilAt: () => number): Promise<void> => {
      const leftMs = untilAt() - Date.now();
      if (leftMs <= 0) end();
      else if (peers.has(end)) timer = setTimeout(() => void woken(untilAt), leftMs);
      return promise;
    };
    peers.add(end);
    return { woken, cancel: end };
  }

  /** Waits until it is ready, which may change with each notification of the key, or for so long. */
  async until(key: string, maxMs: number, isReady: () => boolean): Promise<void> {
    const untilAt = Date.now() + maxMs;
    while (Date.now() < untilAt) {
      const waiter = this.open(key);
      try {
        if (isReady()) return;
        await waiter.woken(() => untilAt);
      } finally {
        waiter.cancel();
      }
    }
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
