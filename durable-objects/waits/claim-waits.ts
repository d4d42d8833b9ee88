// Claims that wait for a job or a model task. A worker counts as alive while one of its claims waits here; if the
// object loses a claim, the worker makes it again.

import type { ClaimAnswer } from "../../contract/fleet/worker.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import type { Result } from "../../domain/words/result.ts";
import type { Waiters } from "./waiters.ts";

type Claim = (isWaiting: boolean) => Promise<Result<ClaimAnswer, Refusal>>;

export class ClaimWaits {
  readonly #waiters: Waiters;
  /** A worker's first claim began to wait, or its last one ended. */
  readonly #noteClaiming: (instance: string, isClaiming: boolean) => void;
  /** When a lease that the worker was sent, and has not started, is sent again; null if there is none. */
  readonly #sentAgainAt: (instance: string) => number | null;
  readonly #counts = new Map<string, number>();

  constructor(
    waiters: Waiters,
    noteClaiming: (instance: string, isClaiming: boolean) => void,
    sentAgainAt: (instance: string) => number | null,
  ) {
    this.#waiters = waiters;
    this.#noteClaiming = noteClaiming;
    this.#sentAgainAt = sentAgainAt;
  }

  instances(): Iterable<string> {
    return this.#counts.keys();
  }

  /** Claims now, and again after the worker was notified, a lease is to be sent again, or `waitMs` have passed. */
  async claim(instance: string, waitMs: number, claim: Claim, caller?: string): Promise<Result<ClaimAnswer, Refusal>> {
    const untilAt = Date.now() + waitMs;
    const waiter = this.#waiters.open(`claim ${instance}`, caller);
    try {
      const claimed = await claim(true);
      if (!claimed.ok) return claimed;
      if (claimed.value.jobs.length + claimed.value.model_tasks.length > 0) {
        this.#count(instance, 0);
        return claimed;
      }
      return await this.#whileClaiming(instance, async () => {
        await waiter.woken(() => Math.min(untilAt, this.#sentAgainAt(instance) ?? untilAt));
        // A job that nobody takes would keep the worker's next claim waiting.
        return waiter.isLeft() ? claimed : claim(false);
      });
    } finally {
      waiter.cancel();
    }
  }

  async #whileClaiming<T>(instance: string, wait: () => Promise<T>): Promise<T> {
    this.#count(instance, 1);
    try {
      return await wait();
    } finally {
      this.#count(instance, -1);
    }
  }

  #count(instance: string, change: number): void {
    const count = (this.#counts.get(instance) ?? 0) + change;
    if (count > 0) this.#counts.set(instance, count);
    else this.#counts.delete(instance);
    this.#noteClaiming(instance, count > 0);
  }
}
