// Empties the outbox into D1, one run at a time. With D1 away it waits, longer each time, and nothing else does:
// dispatch never looks here.

import { log } from "../contract/log.ts";
import { retryDelayMs } from "../domain/backoff.ts";
import { type Insert, projectionOf } from "./projection.ts";
import type { Store } from "./store/open.ts";
import type { OutboxRow } from "./store/outbox.ts";

const ROWS_A_DRAIN = 500;
/** A few thousand events with what belongs to them. */
const CHARS_A_DRAIN = 1_000_000;
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
  /** Hears of rows that D1 has now; the store still has the jobs that they name. */
  readonly noteStored?: (rows: readonly OutboxRow[]) => void;
  /** Forgets what D1 has, in a turn. */
  readonly removeUpTo: (upToSeq: number) => Promise<void>;
}

export class Drain {
  readonly #tools: DrainTools;
  #running: Promise<boolean> | null = null;
  #isEmptying = false;
  #failures = 0;
  #retryAt = 0;
  #retryDelayMs = 0;

  constructor(tools: DrainTools) {
    this.#tools = tools;
  }

  get isRunning(): boolean {
    return this.#running !== null || this.#isEmptying;
  }

  /** When the alarm must look at the outbox next; null while there is nothing in it. */
  dueAt(): number | null {
    const oldestAt = this.#tools.store.outbox.oldestAt();
    if (oldestAt === null) return null;
    if (this.isRunning) return this.#tools.now() + RUNNING_CHECK_MS;
    return Math.max(oldestAt + DRAIN_DELAY_MS, this.#restsUntil());
  }

  /**
   * Begins to empty the outbox of what is in it now, unless that is under way or the back-off is not over. What is
   * written meanwhile is gathered for the next run: few large commits cost D1 less than many small ones.
   */
  start(): Promise<boolean> | null {
    if (this.isRunning || this.#tools.now() < this.#restsUntil()) return null;
    this.#isEmptying = true;
    return this.flush().finally(() => {
      this.#isEmptying = false;
    });
  }

  /** When it may try again; a clock that was set back makes the wait no longer. */
  #restsUntil(): number {
    this.#retryAt = Math.min(this.#retryAt, this.#tools.now() + this.#retryDelayMs);
    return this.#retryAt;
  }

  /** Resolves true once everything written before this call is in D1; false if D1 is unavailable. */
  async flush(): Promise<boolean> {
    const target = this.#tools.store.outbox.lastSeq();
    while (this.#tools.store.outbox.firstSeq() <= target) if (!(await this.#batch())) return false;
    return true;
  }

  /** The batch under way, if any, has come to its end, one way or the other. */
  async ended(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  /** One batch at a time, shared by all that wait for it. */
  #batch(): Promise<boolean> {
    this.#running ??= this.#carryOne().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #carryOne(): Promise<boolean> {
    const { store, apply, noteStored, removeUpTo } = this.#tools;
    try {
      const carried = store.outbox.oldest(ROWS_A_DRAIN, CHARS_A_DRAIN);
      await apply(projectionOf(store, carried));
      noteStored?.(carried);
      await removeUpTo(carried.at(-1)?.seq ?? 0);
      this.#failures = 0;
      this.#retryAt = 0;
      return true;
    } catch (error) {
      const delayMs = retryDelayMs(this.#failures, RETRY_BASE_MS, RETRY_MAX_MS, this.#tools.random());
      this.#failures += 1;
      this.#retryDelayMs = delayMs;
      this.#retryAt = this.#tools.now() + delayMs;
      const detail = `trying again in ${Math.round(delayMs)} ms`;
      log("error", "drain.failed", { tenant: this.#tools.tenant, detail }, error);
      return false;
    }
  }
}
