// Writes a tenant's outbox to D1: applies its rows in one transaction together with the tenant's next due time, then
// removes them in a turn. Nothing is removed that D1 does not have.

import { log } from "../../log/log.ts";
import { SERVICE, type TurnRunner } from "../calls/turn-runner.ts";
import type { Store } from "../store/open.ts";
import type { OutboxRow } from "../store/outbox.ts";
import { RECENT_CHARS } from "../store/recent-rows.ts";
import { nextWakeAt } from "../sweep/sweep.ts";
import { storedCounters } from "../turn/memory/counters.ts";
import type { Wake } from "../turn/wake.ts";
import { Drain } from "./drain.ts";
import { Pace } from "./pace.ts";
import type { SpanExporter } from "./span-exporter.ts";
import { endedIn } from "./spans.ts";
import type { Insert } from "./statements.ts";

/** History that is so far behind does not catch up while a new job waits. */
const FAR_CHARS = 4 * RECENT_CHARS;
const READER_PATIENCE_MS = 10_000;
/** While load follows load, the wake time is noted this often: it is looked for in every table and the journal. */
const WAKE_NOTED_MS = 1_000;
/** One row each; the next request waits for them. */
const WORKERS_A_DRAIN = 500;

interface HistoryTools {
  readonly tenant: string;
  /** Throws if the tenant's database is not bound. */
  readonly database: () => D1Database;
  readonly store: Store;
  readonly wake: Wake;
  readonly spans: SpanExporter;
  readonly waitUntil: (work: Promise<unknown>) => void;
  readonly turns: TurnRunner;
}

export class HistoryWriter {
  readonly #tools: HistoryTools;
  readonly #drain: Drain;
  readonly #pace = new Pace(() => this.#spareChars());
  /** The size of the whole database after the last drain. */
  #databaseBytes: number | null = null;
  /** When history was last told when this object must wake. */
  #wakeNotedAt = Number.NEGATIVE_INFINITY;

  constructor(tools: HistoryTools) {
    this.#tools = tools;
    this.#drain = new Drain({
      store: tools.store,
      tenant: tools.tenant,
      now: Date.now,
      random: Math.random,
      apply: (inserts, isLast) => this.#apply(inserts, isLast),
      noteStored: (rows) => this.#exportSpans(rows),
      removeUpTo: (seq) => this.#removeUpTo(seq),
    });
  }

  /** When the alarm must look at the outbox next; null if it is empty. */
  dueAt(): number | null {
    return this.#drain.dueAt();
  }

  /** Brings D1 up to date with everything before this call; false while D1 is down. */
  flush(): Promise<boolean> {
    return this.#drain.flush();
  }

  /** The same for a reader, who gets false also while D1 has hours to catch up with. */
  flushForReader(): Promise<boolean> {
    return this.#drain.flush(READER_PATIENCE_MS);
  }

  /** Resolves when the current batch, if any, has ended in whatever way. */
  ended(): Promise<void> {
    return this.#drain.ended();
  }

  /** Begins to empty the outbox, and sets the alarm for what is left. */
  start(): void {
    const { wake, waitUntil } = this.#tools;
    const draining = this.#drain.start();
    if (draining !== null) waitUntil(draining.then(() => wake.arm(this.dueAt())));
    wake.arm(this.dueAt());
  }

  /** Whether new jobs wait (`roomFor`). */
  get isHeld(): boolean {
    return this.#pace.isHeld;
  }

  /** Resolves when history is near enough for what a request of this length makes. */
  async roomFor(chars: number): Promise<void> {
    if (!this.isHeld) return;
    this.start();
    await this.#pace.wait(chars);
  }

  /** New jobs do not wait for a history that is away, or that is far behind after an outage. */
  #spareChars(): number {
    const waiting = this.#tools.store.outbox.waitingChars();
    return this.#drain.isWell && waiting < FAR_CHARS ? RECENT_CHARS - waiting : Number.POSITIVE_INFINITY;
  }

  /** Stores for the Cron Trigger when this object must wake, and how long its jobs are kept. */
  async noteWake(): Promise<void> {
    await this.#tools.database().batch([this.#noteWakeStatement()]);
  }

  /**
   * Before a tenant's rows are copied: history has everything, knows that the tenant is away, so that retention leaves
   * its rows alone, and takes the lease of a sync that is under way, so that it stores nothing. False while D1 is down.
   */
  async flushForMove(): Promise<boolean> {
    if (!(await this.flush())) return false;
    const { tenant } = this.#tools;
    const endSyncs = "UPDATE catalog_subscriptions SET lease_id = NULL, lease_until = NULL WHERE tenant = ?1";
    try {
      const database = this.#tools.database();
      await database.batch([this.#noteWakeStatement(), database.prepare(endSyncs).bind(tenant)]);
      return true;
    } catch (error) {
      log("error", "history.failed", { tenant }, error);
      return false;
    }
  }

  async #apply(inserts: readonly Insert[], isLast: boolean): Promise<void> {
    const { tenant } = this.#tools;
    const database = this.#tools.database();
    const statements = inserts.map(({ sql, values }) => database.prepare(sql).bind(tenant, ...values));
    if (isLast || Math.abs(Date.now() - this.#wakeNotedAt) >= WAKE_NOTED_MS) statements.push(this.#noteWakeStatement());
    const applied = await database.batch(statements);
    for (const { meta } of applied) this.#tools.store.written.history += meta?.rows_written ?? 0;
    this.#databaseBytes = (applied.at(-1)?.meta as Partial<D1Meta> | undefined)?.size_after ?? this.#databaseBytes;
  }

  /** The outbox does not count as due, because it is being emptied. A tenant that is away has nothing to wake for. */
  #noteWakeStatement(): D1PreparedStatement {
    const turn = this.#tools.turns.newTurn(SERVICE);
    this.#wakeNotedAt = turn.nowAt;
    const { config, absence } = turn.memory;
    const wakeAt = absence === null ? nextWakeAt(turn) : null;
    const sql = "UPDATE tenants SET wake_at = ?2, keep_days = ?3, keep_texts_days = ?5, away = ?4 WHERE tenant = ?1";
    const { keepDays, keepTextsDays } = config.history;
    const values = [wakeAt, keepDays, absence?.state ?? null, keepTextsDays];
    return this.#tools
      .database()
      .prepare(sql)
      .bind(this.#tools.tenant, ...values);
  }

  async #removeUpTo(seq: number): Promise<void> {
    const { store, wake, turns } = this.#tools;
    await turns.run(() => {
      // The tenant was deleted meanwhile: its object stays empty.
      if (store.outbox.firstSeq() > seq) return;
      const nowAt = Date.now();
      if (store.jobs.settle(seq, nowAt)) wake.note(store.jobs.nextDueAt());
      wake.note(store.jobs.nextMoveAt(seq));
      const { memory } = turns;
      memory.storage.historyBytes += store.outbox.removeUpTo(seq);
      store.settings.putHistoryBytes(memory.storage.historyBytes);
      memory.storage.sizes.databaseBytes = this.#databaseBytes;
      memory.outbox.drainedSeq = seq;
      store.settings.putCounters(storedCounters(memory.counters));
      memory.counters.latencies.storeAll(store.latency);
      memory.counters.activitySlots.storeAll(store.activity);
      if (store.jobs.unshelve(store.outbox.goneSeq(), nowAt)) wake.note(nowAt);
      this.#storeWorkers();
    });
    this.#pace.release();
  }

  /**
   * Workers' outcomes and confirmations are stored once per drain, not once per job: routing uses them, but no
   * guarantee depends on them. After a halt that thousands confirm, the rest is stored with the next drains.
   */
  #storeWorkers(): void {
    const { fleet, unstoredWorkers } = this.#tools.turns.memory;
    for (const instance of [...unstoredWorkers].slice(0, WORKERS_A_DRAIN)) {
      const member = fleet.get(instance);
      if (member !== undefined) this.#tools.store.workers.put(member.worker);
      unstoredWorkers.delete(instance);
    }
  }

  /** Exports the jobs that ended in these rows. */
  #exportSpans(rows: readonly OutboxRow[]): void {
    const { spans, store, waitUntil } = this.#tools;
    if (!spans.isOn) return;
    const events = rows.flatMap(({ entries }) => entries.events);
    const jobs = store.jobs.findMany([...new Set(events.map(({ jobId }) => jobId))]).map(({ job }) => job);
    waitUntil(spans.export(endedIn(events, jobs)));
  }
}
