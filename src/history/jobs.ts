// Jobs and their timelines as history has them.

import { fromIso } from "../../contract/field.ts";
import {
  type JobEventResource,
  type JobListQuery,
  type JobResource,
  presentJob,
  presentJobEvent,
} from "../../contract/job.ts";
import type { JobEventType } from "../../domain/event.ts";
import type { Archived } from "../../domain/job-record.ts";
import { readJob } from "../../domain/job-record.ts";
import type { Json } from "../../domain/json.ts";
import { readHistory } from "./store.ts";

/** A page of jobs stays within memory: longer values are shortened, and the job says which. */
const LISTED_CHARS = 16_384;
const MAX_EVENTS = 10_000;

interface JobRow {
  readonly record: string;
  readonly prompt: string;
  readonly input: string;
  readonly result: string;
}

/** A job with its payload and result, for a reader or for a command on one that has left the object. */
export const findArchived = (db: D1Database, tenant: string, id: string): Promise<Archived | null> =>
  readHistory(async () => {
    const row = await db
      .prepare(
        `SELECT record, prompt, input, COALESCE(result, 'null') AS result FROM jobs
           JOIN payloads ON payloads.tenant = jobs.tenant AND payloads.job_id = jobs.id
           LEFT JOIN results ON results.tenant = jobs.tenant AND results.job_id = jobs.id
         WHERE jobs.tenant = ?1 AND jobs.id = ?2`,
      )
      .bind(tenant, id)
      .first<JobRow>();
    if (row === null) return null;
    return {
      job: readJob(row.record),
      prompt: row.prompt,
      input: JSON.parse(row.input) as Json,
      result: JSON.parse(row.result) as Json,
    };
  });

/** The conditions of a list, each with its bindings; `?1` is the tenant. */
const conditionsOf = (query: JobListQuery): { where: string; bindings: (string | number)[] } => {
  const conditions = ["jobs.tenant = ?1"];
  const bindings: (string | number)[] = [];
  const add = (condition: (parameter: string) => string, value: string | number | undefined): void => {
    if (value === undefined) return;
    bindings.push(value);
    conditions.push(condition(`?${bindings.length + 1}`));
  };
  add((p) => `jobs.status = ${p}`, query.status);
  add((p) => `jobs.provider = ${p}`, query.provider);
  add((p) => `jobs.schedule = ${p}`, query.schedule);
  add((p) => `jobs.worker = ${p}`, query.worker);
  add((p) => `jobs.created_at >= ${p}`, query.since === undefined ? undefined : fromIso(query.since));
  add((p) => `EXISTS (SELECT 1 FROM json_each(jobs.tags) WHERE value = ${p})`, query.tag);
  return { where: conditions.join(" AND "), bindings };
};

interface ListedRow extends JobRow {
  readonly prompt_chars: number;
  readonly input_chars: number;
  readonly result_chars: number;
}

/** A page of jobs, newest first, and how many there are in all. */
export const listJobs = (
  db: D1Database,
  tenant: string,
  query: JobListQuery,
): Promise<{ jobs: JobResource[]; total: number }> =>
  readHistory(async () => {
    const { where, bindings } = conditionsOf(query);
    const limits = `?${bindings.length + 2} OFFSET ?${bindings.length + 3}`;
    const page = db
      .prepare(
        `SELECT record, substr(prompt, 1, ${LISTED_CHARS}) AS prompt, length(prompt) AS prompt_chars,
           substr(input, 1, ${LISTED_CHARS}) AS input, length(input) AS input_chars,
           substr(COALESCE(result, 'null'), 1, ${LISTED_CHARS}) AS result, length(result) AS result_chars
         FROM (SELECT tenant, id, record FROM jobs WHERE ${where}
               ORDER BY created_at DESC, id DESC LIMIT ${limits}) AS listed
           JOIN payloads ON payloads.tenant = listed.tenant AND payloads.job_id = listed.id
           LEFT JOIN results ON results.tenant = listed.tenant AND results.job_id = listed.id
         ORDER BY id DESC`,
      )
      .bind(tenant, ...bindings, query.limit, query.offset);
    const count = db.prepare(`SELECT COUNT(*) AS total FROM jobs WHERE ${where}`).bind(tenant, ...bindings);
    const [listed, counted] = await db.batch([page, count]);
    const rows = (listed?.results ?? []) as unknown as ListedRow[];
    const total = (counted?.results[0] as { total: number } | undefined)?.total ?? 0;
    return { jobs: rows.map(presentListed), total };
  });

const presentListed = (row: ListedRow): JobResource => {
  const truncated = (["prompt", "input", "result"] as const).filter(
    (name) => (row[`${name}_chars`] ?? 0) > LISTED_CHARS,
  );
  const json = (name: "input" | "result"): Json => (truncated.includes(name) ? null : (JSON.parse(row[name]) as Json));
  const job = presentJob(readJob(row.record), { prompt: row.prompt, input: json("input") }, json("result"));
  return truncated.length === 0 ? job : { ...job, truncated };
};

interface EventRow {
  readonly at: number;
  readonly type: JobEventType;
  readonly worker: string | null;
  readonly lease: number;
  readonly detail: string;
}

/** A job's timeline, oldest first; null where there is no such job. */
export const jobTimeline = (db: D1Database, tenant: string, id: string): Promise<JobEventResource[] | null> =>
  readHistory(async () => {
    const { results } = await db
      .prepare(
        `SELECT at, type, worker, lease, detail FROM events WHERE tenant = ?1 AND job_id = ?2
         ORDER BY version LIMIT ${MAX_EVENTS}`,
      )
      .bind(tenant, id)
      .all<EventRow>();
    if (results.length === 0) return null;
    return results.map((row) => presentJobEvent({ ...row, detail: JSON.parse(row.detail) as Json }));
  });
