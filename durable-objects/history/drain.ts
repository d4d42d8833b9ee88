// Empties the outbox into D1, one run at a time. While D1 is down it waits with growing delays; nothing else waits,
// because dispatch does not depend on it. A load is removed from the outbox only after D1 has it, and the next one is
// applied only after that.

import { within } from "../../contract/text/within.ts";
import { retryDelayMs } from "../../domain/job/backoff.ts";
import { levelOfFailure } from "../../domain/tenant/tenant-database.ts";
import { log } from "../../log/log.ts";
import type { Store } from "../store/open.ts";
import { DRAIN_DELAY_MS, type OutboxRow } from "../store/outbox.ts";
import { Recent } from "../store/recent.ts";
import { RECENT_CHARS } from "../store/recent-rows.ts";
import { type Projection, projectionOf, type Sent } from "./projection.ts";
import type { Insert } from "./statements.ts";

/**
 * The most that one batch carries: hundreds of jobs with their events. To make ready a batch of 1 MB keeps the thread that
 * all tenants share for 50 ms; smaller ones cost D1 a twentieth more CPU.
 */
export const DRAIN_ROOM = { rows: 500, chars: 400_000 };
/** D1 answers 1,000 queries of one invocation. A run that asks more goes on with the next alarm. */
const QUERIES_A_RUN = 800;
const RETRY_BASE_MS = 500;
const RETRY_MAX_MS = 60_000;
/** More than a tenant has in progress at a time. */
const KNOWN_JOBS = 8_000;
/** A run leaves younger changes to the next one. */
const YOUNG_MS = DRAIN_DELAY_MS / 2;
/** History that has not answered for longer is not waited for. */
const ANSWERS_WITHIN_MS = 2_000;
/** During a run the alarm checks again after this time. */
const RUNNING_CHECK_MS = 5_000;

interface DrainTools {
  readonly store: Store;
  readonly tenant: string;
  readonly now: () => number;
  readonly random: () => number;
  /** Applies statements to D1 in one transaction; `isLast`: the outbox has no more rows. */
  readonly apply: (inserts: readonly Insert[], isLast: boolean) => Promise<void>;
  /** Called for rows that are now in D1; the store still has their jobs. */
  readonly noteStored?: (rows: readonly OutboxRow[]) => void;
  /** Removes what D1 has, in a turn. */
  readonly removeUpTo: (upToSeq: number) => Promise<void>;
  readonly queriesARun?: number;
}

interface Load extends Projection {
  readonly rows: readonly OutboxRow[];
}

export class Drain {
  readonly #tools: DrainTools;
  #running: Promise<boolean> | null = null;
  #isEmptying = false;
  #failures = 0;
  /** Asked of D1 so far. */
  #queries = 0;
  #retryAt = 0;
  #retryDelayMs = 0;
  /** When the load under way was sent. */
  #sentAt = Number.POSITIVE_INFINITY;
  /** The next load, while D1 works on the one before it. */
  #prepared: Load | null = null;
  /** Jobs in D1, or on their way. */
  readonly #sent = new Recent<Sent>(KNOWN_JOBS);

  constructor(tools: DrainTools) {
    this.#tools = tools;
  }

  get isRunning(): boolean {
    return this.#running !== null || this.#isEmptying;
  }

  /** Whether history takes what it is sent. */
  get isWell(): boolean {
    return this.#failures === 0 && this.#tools.now() - this.#sentAt < ANSWERS_WITHIN_MS;
  }

  /** When the alarm must look at the outbox next; null if it is empty. */
  dueAt(): number | null {
    const { store, now } = this.#tools;
    const oldestAt = store.outbox.oldestAt();
    if (oldestAt === null) return null;
    if (this.isRunning) return now() + RUNNING_CHECK_MS;
    return Math.max(this.#isUrgent(oldestAt) ? now() : oldestAt + DRAIN_DELAY_MS, this.#restsUntil());
  }

  /**
   * Begins to empty the outbox of its current rows, unless a run or a back-off is in progress. Later and young rows are
   * left for the next run: few large commits cost D1 less than many small ones, and a job that ends meanwhile is written
   * once.
   */
  start(): Promise<boolean> | null {
    const { store, now } = this.#tools;
    if (this.isRunning || now() < this.#restsUntil()) return null;
    this.#isEmptying = true;
    const untilAt = this.#isUrgent(store.outbox.oldestAt()) ? Number.POSITIVE_INFINITY : now() - YOUNG_MS;
    return this.#empty(Number.POSITIVE_INFINITY, untilAt).finally(() => {
      this.#isEmptying = false;
    });
  }

  /** Nothing waits: there is little room for more, or the clock was set back and says nothing of how young a row is. */
  #isUrgent(oldestAt: number | null): boolean {
    const { store, now } = this.#tools;
    return store.jobs.isCrowded() || store.outbox.waitingChars() > RECENT_CHARS || (oldestAt ?? 0) > now();
  }

  /** When it may try again; if the clock was set back, the wait does not get longer. */
  #restsUntil(): number {
    this.#retryAt = Math.min(this.#retryAt, this.#tools.now() + this.#retryDelayMs);
    return this.#retryAt;
  }

  /**
   * Resolves true once everything written before this call is in D1; false if D1 is unavailable, or if there is more
   * than it takes in about `patienceMs`, or in one run.
   */
  flush(patienceMs = Number.POSITIVE_INFINITY): Promise<boolean> {
    return this.#empty(patienceMs, Number.POSITIVE_INFINITY);
  }

  async #empty(patienceMs: number, untilAt: number): Promise<boolean> {
    const { store, now, queriesARun = QUERIES_A_RUN } = this.#tools;
    const target = store.outbox.lastSeq();
    const giveUpAt = now() + patienceMs;
    const lastQuery = this.#queries + queriesARun;
    while (store.outbox.firstSeq() <= target && (store.outbox.oldestAt() ?? 0) <= untilAt) {
      const leftMs = giveUpAt - now();
      if (leftMs <= 0 || this.#queries >= lastQuery || !(await this.#batchWithin(leftMs, untilAt))) return false;
    }
    return true;
  }

  /** Resolves when the current batch, if any, has ended in whatever way. */
  async ended(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  /** False also if D1 does not answer in time. */
  async #batchWithin(ms: number, untilAt: number): Promise<boolean> {
    return Number.isFinite(ms) ? ((await within(this.#batch(untilAt), ms)) ?? false) : this.#batch(untilAt);
  }

  /** One batch at a time, shared by all callers. */
  #batch(untilAt: number): Promise<boolean> {
    this.#running ??= this.#carryOne(untilAt).finally(() => {
      this.#running = null;
      this.#sentAt = Number.POSITIVE_INFINITY;
    });
    return this.#running;
  }

  async #carryOne(untilAt: number): Promise<boolean> {
    const { store, apply, noteStored, removeUpTo } = this.#tools;
    try {
      const load = this.#takePrepared() ?? this.#project(store.outbox.oldest({ ...DRAIN_ROOM, untilAt }));
      for (const [id, sent] of load.sent) this.#sent.keep(id, sent);
      // One more says when the tenant must wake. Rows may be of the journal alone: history gets nothing of them.
      this.#queries += load.inserts.length + 1;
      this.#sentAt = this.#tools.now();
      const upToSeq = load.rows.at(-1)?.seq ?? 0;
      const isLast = store.outbox.lastSeq() <= upToSeq;
      const applied = load.inserts.length === 0 ? null : apply(load.inserts, isLast);
      this.#prepareAfter(upToSeq, untilAt);
      await applied;
      noteStored?.(load.rows);
      await removeUpTo(upToSeq);
      this.#failures = 0;
      this.#retryAt = 0;
      return true;
    } catch (error) {
      this.#prepared = null;
      this.#sent.clear();
      const delayMs = retryDelayMs(this.#failures, RETRY_BASE_MS, RETRY_MAX_MS, this.#tools.random());
      this.#failures += 1;
      this.#retryDelayMs = delayMs;
      this.#retryAt = this.#tools.now() + delayMs;
      const detail = `trying again in ${Math.round(delayMs)} ms`;
      log(levelOfFailure(error), "drain.failed", { tenant: this.#tools.tenant, detail }, error);
      return false;
    }
  }

  #project(rows: readonly OutboxRow[]): Load {
    const { store } = this.#tools;
    return { rows, ...projectionOf(store, rows, store.outbox.recentAfter(rows.at(-1)?.seq ?? 0), this.#sent) };
  }

  /**
   * Prepares the next load while D1 works on this one; only a full load, because few large commits cost D1 less than
   * many small ones.
   */
  #prepareAfter(seq: number, untilAt: number): void {
    try {
      const rows = this.#tools.store.outbox.oldest({ ...DRAIN_ROOM, untilAt }, seq + 1);
      const chars = rows.reduce((sum, row) => sum + row.chars, 0);
      if (rows.length === DRAIN_ROOM.rows || chars >= DRAIN_ROOM.chars) this.#prepared = this.#project(rows);
    } catch {
      // It fails again when its turn comes, and the load under way is not affected.
    }
  }

  /** The rows of an outbox never change; a tenant that was deleted and created again has another outbox. */
  #takePrepared(): Load | null {
    const prepared = this.#prepared;
    this.#prepared = null;
    return prepared?.rows[0]?.seq === this.#tools.store.outbox.firstSeq() ? prepared : null;
  }
}
