// Requests that wait for an event: a claim for a job, a reader for a job's end. They have no state that matters: if one
// is lost, its caller asks again.

import { Heap, type Heaped } from "../../domain/job/heap.ts";

interface Waiter {
  /** Resolves when the key is notified, or at the time; that is asked again when it has come, because it may move. */
  readonly woken: (untilAt: () => number) => Promise<void>;
  readonly cancel: () => void;
  /** Nobody waits for the answer any more. */
  readonly isLeft: () => boolean;
}

interface Sleeper extends Heaped {
  wakesAt: number;
  readonly untilAt: () => number;
  readonly end: () => void;
}

export class Waiters {
  readonly #byKey = new Map<string, Set<() => void>>();
  /** How to end the wait of each caller that may leave, by a name of its own. */
  readonly #callers = new Map<string, () => void>();
  /** All share one timer: the platform gives an object 10,000, and its turns need them, too. */
  readonly #sleepers = new Heap<Sleeper>((one, other) => one.wakesAt < other.wakesAt);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  /** Opened before the state is read, so that no change is missed in between. */
  open(key: string, caller?: string): Waiter {
    const { promise, resolve } = Promise.withResolvers<void>();
    const peers = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, peers);
    let sleeper: Sleeper | null = null;
    let isLeft = false;
    const leave = (): void => {
      isLeft = true;
      end();
    };
    const end = (): void => {
      if (sleeper !== null) this.#sleepers.remove(sleeper);
      sleeper = null;
      if (this.#sleepers.size === 0) this.#clearTimer();
      peers.delete(end);
      if (caller !== undefined) this.#callers.delete(caller);
      if (peers.size === 0 && this.#byKey.get(key) === peers) this.#byKey.delete(key);
      resolve();
    };
    const woken = (untilAt: () => number): Promise<void> => {
      const wakesAt = untilAt();
      if (wakesAt <= Date.now()) end();
      else if (peers.has(end)) {
        sleeper = { at: -1, wakesAt, untilAt, end };
        this.#sleepers.add(sleeper);
        this.#wakeFirst();
      }
      return promise;
    };
    peers.add(end);
    if (caller !== undefined) this.#callers.set(caller, leave);
    return { woken, cancel: end, isLeft: () => isLeft };
  }

  #wakeFirst(): void {
    const at = this.#sleepers.first?.wakesAt ?? Number.POSITIVE_INFINITY;
    if (at >= this.#timerAt) return;
    this.#clearTimer();
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.#look(), at - Date.now());
  }

  #clearTimer(): void {
    clearTimeout(this.#timer);
    this.#timerAt = Number.POSITIVE_INFINITY;
  }

  #look(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    const nowAt = Date.now();
    for (let first = this.#sleepers.first; first !== null && first.wakesAt <= nowAt; first = this.#sleepers.first) {
      first.wakesAt = first.untilAt();
      if (first.wakesAt <= nowAt) first.end();
      else this.#sleepers.moved(first);
    }
    this.#wakeFirst();
  }

  /** Waits until it is ready, which may change with each notification of the key, or for so long. */
  async until(key: string, maxMs: number, isReady: () => boolean, caller?: string): Promise<void> {
    const untilAt = Date.now() + maxMs;
    while (Date.now() < untilAt) {
      const waiter = this.open(key, caller);
      try {
        if (isReady()) return;
        await waiter.woken(() => untilAt);
        if (waiter.isLeft()) return;
      } finally {
        waiter.cancel();
      }
    }
  }

  /** A caller has left: its wait ends. */
  leave(caller: string): void {
    this.#callers.get(caller)?.();
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
