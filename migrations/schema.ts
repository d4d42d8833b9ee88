// The history in D1. The tenant comes first in every key. Jobs only move forward (version); events, attempts, audit
// entries and schedule runs are inserted once by their key, so applying a batch twice has the effect of applying it
// once. Cloudflare charges for each row and index entry that is written, so that most jobs are one row, texts and
// events included, and what lists filter by is in one full-text index, `job_terms`, which drizzle does not know.

import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

export * from "./catalog.ts";

export const tenants = sqliteTable("tenants", {
  tenant: text("tenant").primaryKey(),
  createdAt: integer("created_at").notNull(),
  locationHint: text("location_hint"),
  jurisdiction: text("jurisdiction"),
  /** When the tenant's object must wake, as of its last drain; long past means that it lost its alarm. */
  wakeAt: integer("wake_at"),
  /** How many days its finished jobs are kept, as of its last drain; null: for ever. */
  keepDays: integer("keep_days"),
  /** The same of their texts. */
  keepTextsDays: integer("keep_texts_days"),
  /** Jobs that had finished by then have no texts. */
  textsGoneUntil: integer("texts_gone_until"),
  /** The long texts of jobs that had finished by then are packed. */
  packedUntil: integer("packed_until"),
  /** Why its object does not serve it here, as of its last drain: arriving, leaving, left; null: it does. */
  away: text("away"),
  /** The last step of a move between databases that has written here; what an earlier one still does changes nothing. */
  historyMove: integer("history_move"),
});

export const jobs = sqliteTable(
  "jobs",
  {
    /**
     * Names the job in `job_terms`, and orders a tenant's jobs by creation: rows come in the order of ids, and ids only
     * grow.
     */
    seq: integer("seq").primaryKey(),
    tenant: text("tenant").notNull(),
    id: text("id").notNull(),
    version: integer("version").notNull(),
    status: text("status").notNull(),
    worker: text("worker"),
    schedule: text("schedule"),
    keyId: text("key_id"),
    ranProvider: text("ran_provider"),
    ranModel: text("ran_model"),
    errorCode: text("error_code"),
    errorMessage: text("error_message"),
    costNanoUsd: integer("cost_nano_usd"),
    /** JSON of [name, value] pairs: the fields that a job may have several of. */
    labels: text("labels").notNull(),
    createdAt: integer("created_at").notNull(),
    finishedAt: integer("finished_at"),
    /** What is neither in a column nor as in most jobs (`domain/job/job-record.ts`). */
    record: text("record").notNull(),
    /** Texts that are short, and the start of a prompt; null: the text is in `payloads` or `results`. */
    prompt: text("prompt"),
    input: text("input"),
    result: text("result"),
    /** The first events: JSON of [version, at, type, worker, lease, detail]. Further ones are in `events`. */
    events: text("events"),
  },
  (table) => [
    uniqueIndex("jobs_by_id").on(table.tenant, table.id),
    index("jobs_newest").on(table.tenant, table.createdAt),
    index("jobs_by_finish").on(table.tenant, table.finishedAt),
    index("jobs_by_cost").on(table.tenant, table.costNanoUsd),
    // Failures of one kind stand together, so that many are counted without a look at each.
    index("jobs_failed_kinds")
      .on(
        table.tenant,
        sql`quote(error_code) || ' ' || quote(ran_provider) || ' ' || quote(ran_model)`,
        table.finishedAt,
      )
      .where(sql`status = 'failed'`),
  ],
);

export const payloads = sqliteTable(
  "payloads",
  {
    tenant: text("tenant").notNull(),
    jobId: text("job_id").notNull(),
    prompt: text("prompt").notNull(),
    input: text("input").notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenant, table.jobId] })],
);

export const results = sqliteTable(
  "results",
  { tenant: text("tenant").notNull(), jobId: text("job_id").notNull(), result: text("result").notNull() },
  (table) => [primaryKey({ columns: [table.tenant, table.jobId] })],
);

export const events = sqliteTable(
  "events",
  {
    tenant: text("tenant").notNull(),
    jobId: text("job_id").notNull(),
    version: integer("version").notNull(),
    at: integer("at").notNull(),
    type: text("type").notNull(),
    worker: text("worker"),
    lease: integer("lease").notNull(),
    detail: text("detail").notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenant, table.jobId, table.version] })],
);

export const attempts = sqliteTable(
  "attempts",
  {
    tenant: text("tenant").notNull(),
    jobId: text("job_id").notNull(),
    lease: integer("lease").notNull(),
    at: integer("at").notNull(),
    provider: text("provider").notNull(),
    model: text("model").notNull(),
    worker: text("worker").notNull(),
    outcome: text("outcome").notNull(),
    inputTokens: integer("input_tokens").notNull(),
    outputTokens: integer("output_tokens").notNull(),
    cachedInputTokens: integer("cached_input_tokens").notNull(),
    reasoningTokens: integer("reasoning_tokens").notNull(),
    nanoUsd: integer("nano_usd"),
    source: text("source").notNull(),
    price: text("price"),
    /** 1: the drain has added it up; 0: an earlier release wrote it, and a trigger adds it up. */
    isSummed: integer("is_summed").notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.tenant, table.jobId, table.lease] }),
    // An ordinary attempt has a price, and no entry here.
    index("attempts_unpriced").on(table.tenant, table.jobId).where(sql`${table.nanoUsd} is null`),
  ],
);

/** Attempts summed by hour, provider and model, in the transaction that inserts them. */
export const costHours = sqliteTable(
  "cost_hours",
  {
    tenant: text("tenant").notNull(),
    hourAt: integer("hour_at").notNull(),
    provider: text("provider").notNull(),
    model: text("model").notNull(),
    jobs: integer("jobs").notNull(),
    unpricedJobs: integer("unpriced_jobs").notNull(),
    nanoUsd: integer("nano_usd").notNull(),
    inputTokens: integer("input_tokens").notNull(),
    outputTokens: integer("output_tokens").notNull(),
    cachedInputTokens: integer("cached_input_tokens").notNull(),
    reasoningTokens: integer("reasoning_tokens").notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenant, table.hourAt, table.provider, table.model] })],
);

/** The same by other dimensions: `name` is tag, metadata.<name>, key, worker or schedule. */
export const costByHours = sqliteTable(
  "cost_by_hours",
  {
    tenant: text("tenant").notNull(),
    name: text("name").notNull(),
    hourAt: integer("hour_at").notNull(),
    /** Empty for none. */
    value: text("value").notNull(),
    jobs: integer("jobs").notNull(),
    unpricedJobs: integer("unpriced_jobs").notNull(),
    nanoUsd: integer("nano_usd").notNull(),
    inputTokens: integer("input_tokens").notNull(),
    outputTokens: integer("output_tokens").notNull(),
    cachedInputTokens: integer("cached_input_tokens").notNull(),
    reasoningTokens: integer("reasoning_tokens").notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenant, table.name, table.hourAt, table.value] })],
);

export const audit = sqliteTable(
  "audit",
  {
    tenant: text("tenant").notNull(),
    /** Unique in the tenant: the outbox row and the entry in it, or a random id if the edge writes. */
    id: text("id").notNull(),
    at: integer("at").notNull(),
    actorKeyId: text("actor_key_id"),
    /** The person whose session or key it was. */
    actorPersonId: text("actor_person_id"),
    actorName: text("actor_name").notNull(),
    action: text("action").notNull(),
    target: text("target").notNull(),
    detail: text("detail").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenant, table.id] }),
    index("audit_newest").on(table.tenant, table.at, table.id),
  ],
);

/** The parts of the archive: jobs that are in history no more, by the day on which they were created. */
export const archiveParts = sqliteTable(
  "archive_parts",
  {
    tenant: text("tenant").notNull(),
    /** UTC, as 2026-11-23: ids begin with the time of their creation. */
    day: text("day").notNull(),
    name: text("name").notNull(),
    minId: text("min_id").notNull(),
    maxId: text("max_id").notNull(),
    jobs: integer("jobs").notNull(),
    bytes: integer("bytes").notNull(),
    sha256: text("sha256").notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenant, table.day, table.name] })],
);

export const scheduleRuns = sqliteTable(
  "schedule_runs",
  {
    tenant: text("tenant").notNull(),
    schedule: text("schedule").notNull(),
    /** The outbox row and the run in it. */
    id: text("id").notNull(),
    scheduledFor: integer("scheduled_for").notNull(),
    ranAt: integer("ran_at").notNull(),
    outcome: text("outcome").notNull(),
    reason: text("reason"),
    jobId: text("job_id"),
    missed: integer("missed").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenant, table.schedule, table.id] }),
    index("schedule_runs_by_age").on(table.ranAt),
    index("schedule_runs_newest").on(table.tenant, table.schedule, table.ranAt, table.id),
  ],
);
