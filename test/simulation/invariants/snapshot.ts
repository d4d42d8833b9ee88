// The object's database at one instant, read directly.

import { type ConfigDocument, DEFAULT_CONFIG_DOCUMENT, toConfig } from "../../../contract/config/config.ts";
import type { Config } from "../../../domain/config.ts";
import { modelSetOf } from "../../../domain/fleet/model-set.ts";
import type { Worker } from "../../../domain/fleet/worker.ts";
import { isHaltedBy, KILLSWITCH_OFF, type Killswitch } from "../../../domain/killswitch.ts";
import type { Schedule } from "../../../domain/schedule/schedule.ts";
import type { Webhook } from "../../../domain/webhook.ts";
import type { BudgetNotice } from "../../../durable-objects/store/settings.ts";
import type { Row, SqlValue } from "../../../durable-objects/store/sql.ts";
import type { DeliveryRow } from "../actors/receiver.ts";
import type { Model } from "../model.ts";
import type { Written } from "../platform/disk.ts";
import { LIMITED, type World } from "../world.ts";
import { noteCut } from "./cut-streams.ts";
import { FILES, RESPONSES } from "./files.ts";
import { noteLimited, noteSpent } from "./money.ts";
import { JobIndex, type JobRow, type StoredJobs, type TellingRow } from "./stored-jobs.ts";

export interface Snapshot extends StoredJobs {
  readonly index: JobIndex;
  /** Every table was read. */
  readonly isWhole: boolean;
  readonly nowAt: number;
  /** Those that changed since the previous check; all of them in a whole check. */
  readonly changed: readonly JobRow[];
  readonly workers: ReadonlyMap<string, Worker>;
  readonly schedules: readonly Schedule[];
  readonly killswitch: Killswitch;
  /** The tenant has left, so that nothing is due. */
  readonly isMoved: boolean;
  readonly config: Config;
  readonly backoffs: ReadonlyMap<string, number>;
  readonly drainedSeq: number;
  /** Rows of the outbox that no earlier snapshot had. */
  readonly outbox: readonly TellingRow[];
  readonly outboxCount: number;
  readonly outboxOldestAt: number | null;
  readonly spentNanoUsd: number;
  /** When the first reached budget begins again. */
  readonly budgetEndsAt: number | null;
  readonly webhooks: readonly Webhook[];
  readonly deliveries: ReadonlyMap<string, DeliveryRow>;
  readonly files: readonly Row[];
  readonly responses: readonly Row[];
  /** When the first row of a table expires. */
  readonly expiries: Readonly<Record<keyof typeof EXPIRIES, number | null>>;
  readonly alarmAt: number | null;
}

const configs = new WeakMap<ConfigDocument, Config>();

const configOf = (document: ConfigDocument): Config => {
  const config = configs.get(document) ?? toConfig(document);
  configs.set(document, config);
  return config;
};

const DELIVERIES =
  "SELECT id, webhook_id, event, status, next_attempt_at, body ->> '$.data.id' AS job_id, body ->> '$.data.instance' AS instance FROM deliveries";

/** Those that wait, and those written since `before`. */
const deliveriesOf = (
  { disk }: World["shell"],
  before: Snapshot | null,
  written: Written | null,
): Map<string, DeliveryRow> => {
  const waiting = [...(before?.deliveries ?? [])].filter(([, { nextAttemptAt }]) => nextAttemptAt !== null);
  const found = new Map(before === null ? [] : waiting);
  const keys = [...(written?.rowsOf("deliveries") ?? [])] as string[];
  for (const key of keys) found.delete(key);
  const rows =
    before === null ? disk.rows(DELIVERIES) : keys.flatMap((key) => disk.rows(`${DELIVERIES} WHERE id = ?`, key));
  for (const row of rows)
    found.set(row.id as string, {
      id: row.id as string,
      webhookId: row.webhook_id as string,
      event: row.event as string,
      status: row.status as string,
      nextAttemptAt: row.next_attempt_at as number | null,
      jobId: row.job_id as string | null,
      instance: row.instance as string | null,
    });
  return found;
};

const EXPIRIES = {
  idempotency: "SELECT MIN(expires_at) FROM idempotency",
  sessions: "SELECT MIN(expires_at) FROM sessions",
  keys: "SELECT MIN(record ->> 'previousUntilAt') FROM keys",
} as const;

/** Only what was written since `before` is read; everything if there is none, or if that was on another disk. */
export const takeSnapshot = (world: World, before: Snapshot | null = null, noted: Written | null = null): Snapshot => {
  const { shell, model } = world;
  const { disk } = shell;
  const written = before?.index.isOf(disk) ? noted : null;
  const kept = <T>(table: string, last: T | undefined, read: () => T): T =>
    last !== undefined && written !== null && !written.hasTable(table) ? last : read();
  const setting = <T, S>(name: string, last: S | undefined, read: (value: T | null) => S): S => {
    if (last !== undefined && written !== null && !written.rowsOf("settings").has(name)) return last;
    const [row] = disk.rows("SELECT value FROM settings WHERE name = ?", name);
    return read(row === undefined ? null : model.parsed.of<T>(row.value as string));
  };
  const number = (query: string): number | null => {
    const value = Object.values(disk.rows(query)[0] ?? {})[0];
    return typeof value === "number" ? value : null;
  };
  const records = <T>(table: string): T[] =>
    disk.rows(`SELECT record FROM ${table}`).map((row) => model.parsed.of<T>(row.record as string));
  const killswitch = setting("killswitch", before?.killswitch, (known: Killswitch | null) => known ?? KILLSWITCH_OFF);
  const isWhole = before === null || written === null;
  const index = isWhole ? new JobIndex(disk, model.parsed) : before.index;
  const stored = isWhole ? index.readAll(before) : index.readWritten(before, written);
  const workers = (): Map<string, Worker> =>
    new Map(
      disk.rows("SELECT * FROM workers LEFT JOIN worker_models USING (instance)").map((row) => {
        const worker = model.parsed.of<Worker>(row.record as string);
        const named = (text: SqlValue | undefined) => (text == null ? null : modelSetOf(JSON.parse(text as string)));
        const sets = { models: named(row.models), runtimeModels: named(row.runtime_models) };
        return [worker.instance, { ...worker, ...sets, isHalted: isHaltedBy(killswitch, worker.resumedEpoch) }];
      }),
    );
  const config = (known: { document: ConfigDocument } | null) => configOf(known?.document ?? DEFAULT_CONFIG_DOCUMENT);
  const budgetEndsAt = (notices: BudgetNotice[] | null) =>
    (notices ?? []).reduce<number | null>((earliest, { resetsAt }) => Math.min(earliest ?? resetsAt, resetsAt), null);
  const backoffs = () =>
    new Map(disk.rows("SELECT provider, until_at FROM backoffs").map((row) => Object.values(row) as [string, number]));
  const expiry = (table: keyof typeof EXPIRIES) => kept(table, before?.expiries[table], () => number(EXPIRIES[table]));
  const isUnchanged =
    killswitch === before?.killswitch &&
    written !== null &&
    !written.hasTable("workers") &&
    !written.hasTable("worker_models");
  return {
    index,
    isWhole,
    nowAt: shell.clock.nowAt,
    ...stored,
    changed: changedRows(before, stored, isWhole),
    workers: isUnchanged ? before.workers : workers(),
    schedules: kept("schedules", before?.schedules, () => records<Schedule>("schedules")),
    killswitch,
    isMoved: setting("moved_to", before?.isMoved, (to: string | null) => to !== null),
    config: setting("config", before?.config, config),
    backoffs: kept("backoffs", before?.backoffs, backoffs),
    drainedSeq: setting("drained_seq", before?.drainedSeq, (seq: number | null) => seq ?? 0),
    outbox: outboxSince(index, model.lastSeq),
    outboxCount: index.outbox.size,
    outboxOldestAt: oldestAtOf(index),
    webhooks: kept("webhooks", before?.webhooks, () => records<Webhook>("webhooks")),
    deliveries: kept("deliveries", before?.deliveries, () => deliveriesOf(shell, isWhole ? null : before, written)),
    files: kept("files", before?.files, () => disk.rows(FILES)),
    responses: kept("responses", before?.responses, () => disk.rows(RESPONSES)),
    budgetEndsAt: setting("budget_notices", before?.budgetEndsAt, budgetEndsAt),
    spentNanoUsd: kept("spending", before?.spentNanoUsd, () => number("SELECT SUM(nano_usd) FROM spending") ?? 0),
    expiries: {
      idempotency: expiry("idempotency"),
      sessions: expiry("sessions"),
      keys: expiry("keys"),
    },
    alarmAt: disk.alarmAt,
  };
};

const outboxSince = ({ outbox }: JobIndex, lastSeq: number): TellingRow[] => {
  const rows: TellingRow[] = [];
  for (const row of outbox.values()) if (row.seq > lastSeq) rows.push(row);
  return rows;
};

const oldestAtOf = ({ outbox }: JobIndex): number | null => {
  let oldest: TellingRow | null = null;
  for (const row of outbox.values()) if (oldest === null || row.seq < oldest.seq) oldest = row;
  return oldest?.at ?? null;
};

const changedRows = (before: Snapshot | null, { jobs, reread }: StoredJobs, isWhole: boolean): readonly JobRow[] => {
  if (isWhole) return [...jobs.values()];
  const rows: JobRow[] = [];
  for (const id of reread) {
    const row = jobs.get(id);
    if (row !== undefined && row !== before?.jobs.get(id)) rows.push(row);
  }
  return rows;
};

/** Keeps a snapshot's content after it was checked. */
export const remember = ({ model, isShared }: World, before: Snapshot | null, now: Snapshot): void => {
  for (const { job } of now.changed) model.seen.set(job.id, { job, isHere: true });
  for (const id of now.reread) {
    const was = before?.jobs.get(id);
    if (was !== undefined && !now.jobs.has(id)) model.seen.set(id, { job: was.job, isHere: false });
  }
  model.newlyAccepted = [];
  if (!isShared) model.offered.clear();
  model.lastSeq = Math.max(model.lastSeq, now.drainedSeq, now.outbox.at(-1)?.seq ?? 0);
};

/** An estimate is replaced, at most once. */
const hearCorrection = (model: Model, key: string, nanoUsd: number | null): void => {
  const place = model.attemptPlaces.get(key);
  if (place === undefined) model.violate(`attempt ${key} was corrected twice, or was never charged`);
  if (place === undefined) return;
  model.attemptPlaces.delete(key);
  const more = (nanoUsd ?? 0) - (model.attempts.get(key) ?? 0);
  noteSpent(model, place.provider, place.at, more);
  if (place.keyId === LIMITED.id) noteLimited(model, place.at, more);
  model.attemptedNanoUsd += more;
  model.attempts.set(key, nanoUsd);
};

/** Records what new outbox rows contain: events, attempts and runs, each once. */
export const hearNews = ({ model }: World, now: Snapshot): void => {
  for (const { entries } of now.outbox) {
    for (const event of entries.events) {
      const key = `${event.jobId}/${event.version}`;
      if (model.events.has(key)) model.violate(`event ${key} was told twice`);
      model.events.set(key, event.type);
      noteCut(model, event, (now.jobs.get(event.jobId) ?? model.seen.get(event.jobId))?.job);
      model.eventsByType.set(event.type, (model.eventsByType.get(event.type) ?? 0) + 1);
    }
    model.runCount += entries.runs.length;
    for (const { jobId, lease, nanoUsd, provider, at } of entries.attempts) {
      if (nanoUsd !== null) noteSpent(model, provider, at, nanoUsd);
      const keyId = (now.jobs.get(jobId) ?? model.seen.get(jobId))?.job.keyId;
      if (keyId === LIMITED.id) noteLimited(model, at, nanoUsd ?? 0);
      model.attemptedNanoUsd += nanoUsd ?? 0;
      const key = `${jobId}/${lease}`;
      if (model.attempts.has(key)) model.violate(`attempt ${key} was charged twice`);
      model.attempts.set(key, nanoUsd);
      model.attemptPlaces.set(key, { provider, at, keyId });
    }
    for (const { jobId, lease, nanoUsd } of entries.corrections ?? [])
      hearCorrection(model, `${jobId}/${lease}`, nanoUsd);
    for (const { schedule, scheduledFor, outcome, jobId } of entries.runs) {
      if (outcome !== "created" || jobId === null || model.runsByHand.has(jobId)) continue;
      const key = `${schedule}/${scheduledFor}`;
      const before = model.dueRuns.get(key);
      if (before !== undefined) model.violate(`due time ${key} made jobs ${before} and ${jobId}`);
      model.dueRuns.set(key, jobId);
    }
  }
};
