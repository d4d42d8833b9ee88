// The object's database at one instant, read without its help.

import { type ConfigDocument, DEFAULT_CONFIG_DOCUMENT, toConfig } from "../../contract/config.ts";
import type { Config } from "../../domain/config.ts";
import { isLeased, type Job } from "../../domain/job.ts";
import { isFinal } from "../../domain/job-status.ts";
import { isHaltedBy, KILLSWITCH_OFF, type Killswitch } from "../../domain/killswitch.ts";
import type { Schedule } from "../../domain/schedule.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { Worker } from "../../domain/worker.ts";
import type { OutboxEntries, OutboxRow } from "../../durable-objects/store/outbox.ts";
import type { Disk } from "./disk.ts";
import type { Model } from "./model.ts";
import type { DeliveryRow } from "./receiver.ts";
import type { World } from "./world.ts";

export interface JobRow {
  readonly job: Job;
  readonly orderKey: number | null;
  readonly worker: string | null;
  readonly dueAt: number | null;
}

export interface Snapshot {
  readonly nowAt: number;
  readonly jobs: ReadonlyMap<string, JobRow>;
  /** By job; results as JSON. */
  readonly prompts: ReadonlyMap<string, string>;
  readonly results: ReadonlyMap<string, string>;
  readonly workers: ReadonlyMap<string, Worker>;
  readonly schedules: readonly Schedule[];
  readonly killswitch: Killswitch;
  readonly config: Config;
  readonly backoffs: ReadonlyMap<string, number>;
  readonly drainedSeq: number;
  /** Rows of the outbox that no snapshot before had. */
  readonly outbox: readonly OutboxRow[];
  readonly outboxCount: number;
  readonly outboxOldestAt: number | null;
  readonly spentNanoUsd: number;
  readonly webhooks: readonly Webhook[];
  readonly deliveries: ReadonlyMap<string, DeliveryRow>;
  /** The earliest of what waits for its time outside the jobs, the schedules and the outbox. */
  readonly otherDueAt: number | null;
  readonly alarmAt: number | null;
}

const configs = new WeakMap<ConfigDocument, Config>();

const configOf = (document: ConfigDocument): Config => {
  const config = configs.get(document) ?? toConfig(document);
  configs.set(document, config);
  return config;
};

interface Change {
  readonly job: Job;
  readonly dueAt: number | null;
  readonly payload?: { readonly prompt: string };
  readonly result: unknown;
}

/**
 * Every job that the object would know if it woke now: from the tables, and those that stand in no table from the
 * outbox rows in their order. A final one there waits for history, not for a time.
 */
const storedJobs = (disk: Disk, { parsed }: Model): Pick<Snapshot, "jobs" | "prompts" | "results"> => {
  const pairs = (query: string): Map<string, string> =>
    new Map(disk.rows(query).map((row) => Object.values(row) as [string, string]));
  const [prompts, results] = [
    pairs("SELECT job_id, prompt FROM payloads"),
    pairs("SELECT job_id, result FROM results"),
  ];
  const inTable = disk.rows("SELECT id, order_key, worker, due_at, record FROM jobs").map((row): [string, JobRow] => [
    row.id as string,
    {
      job: parsed.of<Job>(row.record as string),
      orderKey: row.order_key as number | null,
      worker: row.worker as string | null,
      dueAt: row.due_at as number | null,
    },
  ]);
  const jobs = new Map(inTable);
  const isInTable = new Set(jobs.keys());
  const changes = disk.rows(
    `SELECT change.value AS change FROM outbox, json_each(outbox.jobs) AS change WHERE outbox.seq >
       COALESCE((SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'spilled_seq'), 0) ORDER BY seq`,
  );
  for (const { change } of changes) {
    const { job, dueAt, payload, result } = parsed.of<Change>(change as string);
    if (isInTable.has(job.id)) continue;
    const worker = isLeased(job) ? job.assignedWorker : null;
    jobs.set(job.id, { job, orderKey: job.orderKey, worker, dueAt: isFinal(job.status) ? null : dueAt });
    if (payload !== undefined) prompts.set(job.id, payload.prompt);
    if (result !== null) results.set(job.id, JSON.stringify(result));
  }
  return { jobs, prompts, results };
};

export const takeSnapshot = ({ shell, model }: World): Snapshot => {
  const { disk } = shell;
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
  const killswitch = setting<Killswitch>("killswitch") ?? KILLSWITCH_OFF;
  return {
    nowAt: shell.clock.nowAt,
    ...storedJobs(disk, model),
    workers: new Map(
      records<Worker>("workers").map((worker) => [
        worker.instance,
        { ...worker, isHalted: isHaltedBy(killswitch, worker.resumedEpoch) },
      ]),
    ),
    schedules: records<Schedule>("schedules"),
    killswitch,
    config: configOf(setting<{ document: ConfigDocument }>("config")?.document ?? DEFAULT_CONFIG_DOCUMENT),
    backoffs: new Map(
      disk
        .rows("SELECT provider, until_at FROM backoffs")
        .map((row) => [row.provider as string, row.until_at as number]),
    ),
    drainedSeq: setting<number>("drained_seq") ?? 0,
    outbox: disk
      .rows("SELECT seq, at, chars, body FROM outbox WHERE seq > ? ORDER BY seq", model.lastSeq)
      .map((row) => ({
        seq: row.seq as number,
        at: row.at as number,
        chars: row.chars as number,
        entries: JSON.parse(row.body as string) as OutboxEntries,
      })),
    outboxCount: number("SELECT COUNT(*) FROM outbox") ?? 0,
    outboxOldestAt: number("SELECT at FROM outbox ORDER BY seq LIMIT 1"),
    webhooks: records<Webhook>("webhooks"),
    deliveries: new Map(
      disk
        .rows("SELECT id, webhook_id, event, status, next_attempt_at, body ->> '$.data.id' AS job_id FROM deliveries")
        .map((row) => [
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
    ),
    spentNanoUsd: number("SELECT SUM(nano_usd) FROM spending") ?? 0,
    otherDueAt: number(
      `SELECT MIN(at) FROM (SELECT MIN(until_at) AS at FROM backoffs UNION ALL SELECT MIN(expires_at) FROM idempotency
         UNION ALL SELECT MIN(expires_at) FROM sessions UNION ALL SELECT MIN(record ->> '$.pause.untilAt') FROM workers
         UNION ALL SELECT MIN(record ->> 'previousUntilAt') FROM keys)`,
    ),
    alarmAt: disk.alarmAt,
  };
};

/** Keeps what a snapshot brought, once it has been checked. */
export const remember = ({ model }: World, now: Snapshot): void => {
  for (const [id, { job }] of now.jobs) model.seen.set(id, { job, isHere: true });
  for (const [id, { job, isHere }] of model.seen) {
    if (isHere && !now.jobs.has(id)) model.seen.set(id, { job, isHere: false });
  }
  model.lastSeq = Math.max(model.lastSeq, now.drainedSeq, now.outbox.at(-1)?.seq ?? 0);
};

/** Takes over what new outbox rows tell: events, attempts and runs, each once. */
export const hearNews = ({ model }: World, now: Snapshot): void => {
  for (const { entries } of now.outbox) {
    for (const event of entries.events) {
      const key = `${event.jobId}/${event.version}`;
      if (model.events.has(key)) model.violate(`event ${key} was told twice`);
      model.events.set(key, event.type);
    }
    model.auditCount += entries.audit.length;
    model.runCount += entries.runs.length;
    for (const { jobId, lease, nanoUsd, provider, at } of entries.attempts) {
      if (nanoUsd !== null) model.spent.push({ provider, at, nanoUsd });
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
