// The object's database at one instant, read directly.

import { type ConfigDocument, DEFAULT_CONFIG_DOCUMENT, toConfig } from "../../contract/config.ts";
import type { Config } from "../../domain/config.ts";
import { isHaltedBy, KILLSWITCH_OFF, type Killswitch } from "../../domain/killswitch.ts";
import type { Schedule } from "../../domain/schedule.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { Worker } from "../../domain/worker.ts";
import type { OutboxEntries, OutboxRow } from "../../durable-objects/store/outbox.ts";
import { noteSpent } from "./money.ts";
import type { DeliveryRow } from "./receiver.ts";
import { JOB_TABLES, type JobRow, type StoredJobs, storedJobs } from "./stored-jobs.ts";
import type { World } from "./world.ts";

export interface Snapshot extends StoredJobs {
  readonly nowAt: number;
  /** Those that changed since the previous check; all of them in a whole check. */
  readonly changed: readonly JobRow[];
  readonly workers: ReadonlyMap<string, Worker>;
  readonly schedules: readonly Schedule[];
  readonly killswitch: Killswitch;
  readonly config: Config;
  readonly backoffs: ReadonlyMap<string, number>;
  readonly drainedSeq: number;
  /** Rows of the outbox that no earlier snapshot had. */
  readonly outbox: readonly OutboxRow[];
  readonly outboxCount: number;
  readonly outboxOldestAt: number | null;
  readonly spentNanoUsd: number;
  readonly webhooks: readonly Webhook[];
  readonly deliveries: ReadonlyMap<string, DeliveryRow>;
  /** The earliest due time outside the jobs, the schedules and the outbox. */
  readonly otherDueAt: number | null;
  readonly alarmAt: number | null;
}

const configs = new WeakMap<ConfigDocument, Config>();

const configOf = (document: ConfigDocument): Config => {
  const config = configs.get(document) ?? toConfig(document);
  configs.set(document, config);
  return config;
};

/** Every table counts as written: the whole check. */
const ALL = { has: () => true };

const DELIVERY_COLUMNS = "rowid, id, webhook_id, event, status, next_attempt_at, body ->> '$.data.id' AS job_id";

/** Those that wait, and those written since `before`: older ones are not read again. */
const deliveriesOf = ({ shell, model }: World, before: ReadonlyMap<string, DeliveryRow>): Map<string, DeliveryRow> => {
  const waiting = [...before.values()].filter(({ nextAttemptAt }) => nextAttemptAt !== null).map(({ id }) => id);
  const rows = shell.disk.rows(
    `SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE rowid > ?1 OR next_attempt_at IS NOT NULL
       OR id IN (SELECT value FROM json_each(?2))`,
    model.lastDelivery,
    JSON.stringify(waiting),
  );
  for (const row of rows) model.lastDelivery = Math.max(model.lastDelivery, row.rowid as number);
  return new Map(
    rows.map((row) => [
      row.id as string,
      {
        id: row.id as string,
        webhookId: row.webhook_id as string,
        event: row.event as string,
        status: row.status as string,
        nextAttemptAt: row.next_attempt_at as number | null,
        jobId: row.job_id as string | null,
      },
    ]),
  );
};

const OTHER_DUE = `SELECT MIN(at) FROM (SELECT MIN(until_at) AS at FROM backoffs UNION ALL SELECT MIN(expires_at) FROM idempotency
  UNION ALL SELECT MIN(expires_at) FROM sessions UNION ALL SELECT MIN(record ->> '$.pause.untilAt') FROM workers
  UNION ALL SELECT MIN(record ->> 'previousUntilAt') FROM keys)`;
const OTHER_DUE_TABLES = ["backoffs", "idempotency", "sessions", "workers", "keys"] as const;

/** Only tables written since `before` are read; all of them if there is none. */
export const takeSnapshot = (
  world: World,
  before: Snapshot | null = null,
  written: { has(table: string): boolean } = ALL,
): Snapshot => {
  const { shell, model } = world;
  const { disk } = shell;
  const kept = <T>(tables: readonly string[], last: T | undefined, read: () => T): T =>
    last !== undefined && !tables.some((table) => written.has(table)) ? last : read();
  // A webhook that was removed took its deliveries along, whose numbers are given again.
  if (written.has("webhooks")) model.lastDelivery = 0;
  const setting = <T>(name: string): T | null => {
    const [row] = disk.rows("SELECT value FROM settings WHERE name = ?", name);
    return row === undefined ? null : model.parsed.of<T>(row.value as string);
  };
  const number = (query: string): number | null => {
    const value = Object.values(disk.rows(query)[0] ?? {})[0];
    return typeof value === "number" ? value : null;
  };
  const records = <T>(table: string): T[] =>
    disk.rows(`SELECT record FROM ${table}`).map((row) => model.parsed.of<T>(row.record as string));
  const pairs = <T>(query: string): Map<string, T> =>
    new Map(disk.rows(query).map((row) => Object.values(row) as [string, T]));
  const killswitch = kept(["settings"], before?.killswitch, () => setting<Killswitch>("killswitch") ?? KILLSWITCH_OFF);
  const stored = kept<StoredJobs>(JOB_TABLES, before ?? undefined, () => storedJobs(world, before?.jobs ?? new Map()));
  const { jobs, prompts, results } = stored;
  const workers = (): Map<string, Worker> =>
    new Map(
      records<Worker>("workers").map((worker) => [
        worker.instance,
        { ...worker, isHalted: isHaltedBy(killswitch, worker.resumedEpoch) },
      ]),
    );
  const outbox = (): OutboxRow[] =>
    disk.rows("SELECT seq, at, chars, body FROM outbox WHERE seq > ? ORDER BY seq", model.lastSeq).map((row) => ({
      seq: row.seq as number,
      at: row.at as number,
      chars: row.chars as number,
      entries: JSON.parse(row.body as string) as OutboxEntries,
    }));
  const config = () => configOf(setting<{ document: ConfigDocument }>("config")?.document ?? DEFAULT_CONFIG_DOCUMENT);
  const isWhole = written === ALL;
  return {
    nowAt: shell.clock.nowAt,
    jobs,
    changed: [...jobs.values()].filter((row) => isWhole || before?.jobs.get(row.job.id) !== row),
    prompts,
    results,
    workers: kept(["workers", "settings"], before?.workers, workers),
    schedules: kept(["schedules"], before?.schedules, () => records<Schedule>("schedules")),
    killswitch,
    config: kept(["settings"], before?.config, config),
    backoffs: kept(["backoffs"], before?.backoffs, () => pairs<number>("SELECT provider, until_at FROM backoffs")),
    drainedSeq: kept(["settings"], before?.drainedSeq, () => setting<number>("drained_seq") ?? 0),
    outbox: isWhole || written.has("outbox") ? outbox() : [],
    outboxCount: kept(["outbox"], before?.outboxCount, () => number("SELECT COUNT(*) FROM outbox") ?? 0),
    outboxOldestAt: kept(["outbox"], before?.outboxOldestAt, () =>
      number("SELECT at FROM outbox ORDER BY seq LIMIT 1"),
    ),
    webhooks: kept(["webhooks"], before?.webhooks, () => records<Webhook>("webhooks")),
    deliveries: kept(["deliveries"], before?.deliveries, () => deliveriesOf(world, before?.deliveries ?? new Map())),
    spentNanoUsd: kept(["spending"], before?.spentNanoUsd, () => number("SELECT SUM(nano_usd) FROM spending") ?? 0),
    otherDueAt: kept(OTHER_DUE_TABLES, before?.otherDueAt, () => number(OTHER_DUE)),
    alarmAt: disk.alarmAt,
  };
};

/** Keeps a snapshot's content after it was checked. */
export const remember = ({ model }: World, before: Snapshot | null, now: Snapshot): void => {
  for (const { job } of now.changed) model.seen.set(job.id, { job, isHere: true });
  if (before?.jobs !== now.jobs)
    for (const [id, { job }] of before?.jobs ?? []) if (!now.jobs.has(id)) model.seen.set(id, { job, isHere: false });
  model.newlyAccepted = [];
  model.lastSeq = Math.max(model.lastSeq, now.drainedSeq, now.outbox.at(-1)?.seq ?? 0);
};

/** Records what new outbox rows contain: events, attempts and runs, each once. */
export const hearNews = ({ model }: World, now: Snapshot): void => {
  for (const { entries } of now.outbox) {
    for (const event of entries.events) {
      const key = `${event.jobId}/${event.version}`;
      if (model.events.has(key)) model.violate(`event ${key} was told twice`);
      model.events.set(key, event.type);
      model.eventsByType.set(event.type, (model.eventsByType.get(event.type) ?? 0) + 1);
    }
    model.runCount += entries.runs.length;
    for (const { jobId, lease, nanoUsd, provider, at } of entries.attempts) {
      if (nanoUsd !== null) noteSpent(model, provider, at, nanoUsd);
      model.attemptedNanoUsd += nanoUsd ?? 0;
      const key = `${jobId}/${lease}`;
      if (model.attempts.has(key)) model.violate(`attempt ${key} was charged twice`);
      model.attempts.set(key, nanoUsd);
    }
    for (const { schedule, scheduledFor, outcome, jobId } of entries.runs) {
      if (outcome !== "created" || jobId === null || model.runsByHand.has(jobId)) continue;
      const key = `${schedule}/${scheduledFor}`;
      const before = model.dueRuns.get(key);
      if (before !== undefined) model.violate(`due time ${key} made jobs ${before} and ${jobId}`);
      model.dueRuns.set(key, jobId);
    }
  }
};
