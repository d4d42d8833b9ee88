// Outbox → D1. Rows are sent as JSON arrays, one statement per table, in one transaction; every statement may be
// applied twice. Jobs are written in their current state, so a late batch never moves one back; after a burst most are
// final when their first event is sent, and are not sent again with the later ones.

import { type JobPayload, labelsOf } from "../../domain/job/job.ts";
import { idsOf } from "../../domain/words/event.ts";
import type { Json } from "../../domain/words/json.ts";
import type { Recorded } from "../store/job-rows.ts";
import type { Store } from "../store/open.ts";
import type { OutboxRow, StoredEvent } from "../store/outbox.ts";
import { type KeptBatch, keptTextsOf } from "./kept-texts.ts";

/** D1 allows 2 MB per bound value; a statement's rows are split well below that. */
export const STATEMENT_ROOM = { chars: 500_000 };

/** The rows of a statement. Materialised, because json_each writes a row's JSON again for each cell that is read. */
const GIVEN = "WITH given AS MATERIALIZED (SELECT value FROM json_each(?2))";

const INSERTS = {
  tenants: `INSERT INTO tenants (tenant, created_at, location_hint, jurisdiction)
    SELECT ?1, value ->> 0, value ->> 1, value ->> 2 FROM given WHERE true ON CONFLICT DO NOTHING`,
  jobs: `INSERT INTO jobs (tenant, id, version, status, worker, schedule, key_id, ran_provider, ran_model, error_code,
      error_message, cost_nano_usd, labels, created_at, finished_at, record)
    SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
      value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12, value ->> 13, value ->> 14
    FROM given WHERE true
    ON CONFLICT (tenant, id) DO UPDATE SET version = excluded.version, status = excluded.status,
      worker = excluded.worker, ran_provider = excluded.ran_provider, ran_model = excluded.ran_model,
      error_code = excluded.error_code, error_message = excluded.error_message, cost_nano_usd = excluded.cost_nano_usd,
      labels = excluded.labels, finished_at = excluded.finished_at, record = excluded.record
    WHERE excluded.version > jobs.version`,
  payloads: `INSERT INTO payloads (tenant, job_id, prompt, input)
    SELECT ?1, value ->> 0, value ->> 1, value ->> 2 FROM given WHERE true ON CONFLICT DO NOTHING`,
  results: `INSERT INTO results (tenant, job_id, result)
    SELECT ?1, value ->> 0, value ->> 1 FROM given WHERE true ON CONFLICT DO NOTHING`,
  events: `INSERT INTO events (tenant, job_id, version, at, type, worker, lease, detail)
    SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6
    FROM given WHERE true ON CONFLICT DO NOTHING`,
  attempts: `INSERT INTO attempts (tenant, job_id, lease, at, provider, model, worker, outcome, input_tokens,
      output_tokens, cached_input_tokens, reasoning_tokens, nano_usd, source, price)
    SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
      value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12, value ->> 13
    FROM given WHERE true ON CONFLICT DO NOTHING`,
  audit: `INSERT INTO audit (tenant, id, at, actor_key_id, actor_person_id, actor_name, action, target, detail)
    SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7
    FROM given WHERE true ON CONFLICT DO NOTHING`,
  scheduleRuns: `INSERT INTO schedule_runs (tenant, schedule, id, scheduled_for, ran_at, outcome, reason, job_id, missed)
    SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7
    FROM given WHERE true ON CONFLICT DO NOTHING`,
} as const;

/** For a row too large for JSON, whose escapes may double its size. */
const SINGLE_INSERTS = {
  payloads: "INSERT INTO payloads (tenant, job_id, prompt, input) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
  results: "INSERT INTO results (tenant, job_id, result) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
} as const;

type Table = keyof typeof INSERTS;

/** One statement; `?1` is the tenant, followed by the values. */
export interface Insert {
  readonly sql: string;
  readonly values: Cells;
}

type Cells = readonly (string | number | null)[];

export interface Projection {
  readonly inserts: readonly Insert[];
  /** The version of each job that they write. */
  readonly versions: ReadonlyMap<string, number>;
}

/**
 * The statements that bring outbox rows to D1. Reads the jobs they name in their current state; `sent` has versions
 * that D1 has already.
 */
export const projectionOf = (
  store: Store,
  outbox: readonly OutboxRow[],
  sent: { readonly get: (id: string) => number | undefined },
): Projection => {
  const events = outbox.flatMap((row) => row.entries.events);
  const ids = [...new Set(events.map((event) => event.jobId))];
  const createdIds = events.filter((event) => event.type === "job.created").map((event) => event.jobId);
  const jobs = store.jobs.findMany(ids);
  const unsent = jobs.filter(({ job }) => sent.get(job.id) !== job.version);
  const texts = keptTextsOf(store, jobs, {
    payloads: store.payloads.findMany(createdIds),
    results: store.payloads.findResults(unsent.map(({ job }) => job.id)),
  });
  return {
    inserts: insertsOf(outbox, events, unsent, texts),
    versions: new Map(unsent.map(({ job }) => [job.id, job.version])),
  };
};

const insertsOf = (
  outbox: readonly OutboxRow[],
  events: readonly StoredEvent[],
  jobs: readonly Recorded[],
  { payloads, results }: KeptBatch,
): Insert[] => [
  ...inserts("tenants", outbox.flatMap(tenantRows)),
  ...inserts("jobs", jobs.map(jobRow)),
  ...largeInserts("payloads", payloadRows(payloads)),
  ...largeInserts("results", resultRows(results)),
  ...inserts(
    "events",
    events.map((one) => [one.jobId, one.version, one.at, one.type, one.worker, one.lease, JSON.stringify(one.detail)]),
  ),
  ...inserts("attempts", outbox.flatMap(attemptRows)),
  ...inserts("audit", outbox.flatMap(auditRows)),
  ...inserts("scheduleRuns", outbox.flatMap(runRows)),
];

const tenantRows = ({ entries: { identity } }: OutboxRow): Cells[] =>
  identity === undefined ? [] : [[identity.createdAt, identity.locationHint, identity.jurisdiction]];

const jobRow = ({ job, text }: Recorded): Cells => [
  job.id,
  job.version,
  job.status,
  job.assignedWorker,
  job.schedule,
  job.keyId,
  job.ranProvider,
  job.ranModel,
  job.error?.code ?? null,
  job.error?.message ?? null,
  job.costNanoUsd,
  JSON.stringify(labelsOf(job)),
  job.createdAt,
  job.finishedAt,
  text,
];

const payloadRows = (payloads: ReadonlyMap<string, JobPayload>): Cells[] =>
  [...payloads].map(([id, { prompt, input }]) => [id, prompt, JSON.stringify(input)]);

/** Written once: only a completed job has a result, and it stays completed. */
const resultRows = (results: ReadonlyMap<string, Json>): Cells[] =>
  [...results].map(([id, result]) => [id, JSON.stringify(result)]);

const attemptRows = ({ entries }: OutboxRow): Cells[] =>
  entries.attempts.map((one) => [
    one.jobId,
    one.lease,
    one.at,
    one.provider,
    one.model ?? "",
    one.worker,
    one.outcome,
    one.inputTokens,
    one.outputTokens,
    one.cachedInputTokens,
    one.reasoningTokens,
    one.nanoUsd,
    one.source,
    one.price,
  ]);

const auditRows = ({ seq, entries }: OutboxRow): Cells[] =>
  entries.audit.map(({ at, actor, action, target, detail }, index) => [
    lineId(seq, index),
    at,
    idsOf(actor).keyId,
    idsOf(actor).personId,
    actor.name,
    action,
    target,
    JSON.stringify(detail),
  ]);

const runRows = ({ seq, entries }: OutboxRow): Cells[] =>
  entries.runs.map((run, index) => [
    run.schedule,
    lineId(seq, index),
    run.scheduledFor,
    run.ranAt,
    run.outcome,
    run.reason,
    run.jobId,
    run.missed,
  ]);

/** Sorts in numeric order. */
const lineId = (seq: number, index: number): string =>
  `${String(seq).padStart(15, "0")}-${String(index).padStart(4, "0")}`;

/** A table's rows, in as many statements as their size requires. */
const inserts = (table: Table, rows: readonly Cells[]): Insert[] => {
  const statements: Insert[] = [];
  let chunk: string[] = [];
  let chars = 0;
  const close = (): void => {
    if (chunk.length > 0) statements.push({ sql: `${GIVEN} ${INSERTS[table]}`, values: [`[${chunk.join(",")}]`] });
    chunk = [];
    chars = 0;
  };
  for (const row of rows) {
    const text = JSON.stringify(row);
    if (chars + text.length > STATEMENT_ROOM.chars) close();
    chunk.push(text);
    chars += text.length;
  }
  close();
  return statements;
};

const isLarge = (row: Cells): boolean =>
  row.reduce<number>((chars, cell) => chars + (typeof cell === "string" ? cell.length : 0), 0) >
  STATEMENT_ROOM.chars / 2;

const largeInserts = (table: keyof typeof SINGLE_INSERTS, rows: readonly Cells[]): Insert[] => [
  ...inserts(
    table,
    rows.filter((row) => !isLarge(row)),
  ),
  ...rows.filter(isLarge).map((values) => ({ sql: SINGLE_INSERTS[table], values })),
];
