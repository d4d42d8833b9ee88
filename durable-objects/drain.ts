// Empties the outbox into D1, one run at a time. With D1 away it waits, longer each time, and nothing else does:
// dispatch never looks here.

import { retryDelayMs } from "../domain/backoff.ts";
import { drainable, type Insert, projectionOf } from "./projection.ts";
import type { Store } from "./store/open.ts";
import type { OutboxRow } from "./store/outbox.ts";

const ROWS_A_DRAIN = 500;
/** A couple of thousand events; the records of their jobs are about four times as long. */
const CHARS_A_DRAIN = 500_000;
const RETRY_BASE_MS = 500;
const RETRY_MAX_MS = 60_000;
/** Changes are gathered for this long before they go out together. */
export const DRAIN_DELAY_MS = 200;
/** While a run is under way the alarm looks again after this long. */
const RUNNING_CHECK_MS = 5_000;

export interface DrainTools {
  readonly store: Store;
  readonly tenant: string;
  readonly now: () => number;
  readonly random: () => number;
  /** Applies statements to D1 in one transaction. */
  readonly apply: (inserts: readonly Insert[]) => Promise<void>;
  /** Forgets what D1 has, in a turn. */
  readonly settle: (upToSeq: number) => Promise<void>;
}

export class Drain {
  readonly #tools: DrainTools;
  #running: Promise<boolean> | null = null;
  #failures = 0;
  #retryAt = 0;

  constructor(tools: DrainTools) {
    this.#tools = tools;
  }

  get isRunning(): boolean {
    return this.#running !== null;
  }

  /** When the alarm must look at the outbox next; null while there is nothing in it. */
  dueAt(): number | null {
    const oldestAt = this.#tools.store.outbox.oldestAt();
    if (oldestAt === null) return null;
    if (this.isRunning) return this.#tools.now() + RUNNING_CHECK_MS;
    return Math.max(oldestAt + DRAIN_DELAY_MS, this.#retryAt);
  }

  /** Starts a run unless one is under way or the back-off is not over. */
  start(): Promise<boolean> | null {
    if (this.isRunning || this.#tools.now() < this.#retryAt) return null;
    return this.#run();
  }

  /** Everything written before this call is in D1 when it answers true; false means that D1 is away. */
  async flush(): Promise<boolean> {
    const target = this.#tools.store.outbox.lastSeq();
    if (this.#running !== null) await this.#running;
    while (this.#tools.store.outbox.firstSeq() <= target) {
      if (!(await (this.#running ?? this.#run()))) return false;
    }
    return true;
  }

  #run(): Promise<boolean> {
    this.#running = this.#drainAll().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  #oldest(): OutboxRow[] {
    return this.#tools.store.outbox.oldest(ROWS_A_DRAIN, CHARS_A_DRAIN);
  }

  async #drainAll(): Promise<boolean> {
    const { store, apply, settle } = this.#tools;
    try {
      for (let rows = this.#oldest(); rows.length > 0; rows = this.#oldest()) {
        const carried = drainable(store, rows);
        await apply(projectionOf(store, carried));
        await settle(carried.at(-1)?.seq ?? 0);
      }
      this.#failures = 0;
      this.#retryAt = 0;
      return true;
    } catch (error) {
      const delayMs = retryDelayMs(this.#failures, RETRY_BASE_MS, RETRY_MAX_MS, this.#tools.random());
      this.#failures += 1;
      this.#retryAt = this.#tools.now() + delayMs;
      console.error(`tenant ${this.#tools.tenant}: history is away, trying again in ${delayMs} ms: ${String(error)}`);
      return false;
    }
  }
}
