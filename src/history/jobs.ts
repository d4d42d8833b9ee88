// Jobs and their timelines in history.

import { type JobEventResource, type JobResource, presentJob, presentJobEvent } from "../../contract/job.ts";
import { type JobListQuery, type JobSort, MAX_COUNTED } from "../../contract/job-list.ts";
import type { Archived } from "../../domain/job/archived-job.ts";
import { readJob } from "../../domain/job/job-record.ts";
import type { JobEvent, JobEventType } from "../../domain/words/event.ts";
import type { Json } from "../../domain/words/json.ts";
import { invalid } from "../../domain/words/refusal.ts";
import { Refused } from "../http/refused.ts";
import { type PlaceInList, readCursor, writeCursor } from "./job-cursor.ts";
import { type JobSelection, selectionOf } from "./job-filter.ts";
import { KEPT_INPUT, NO_TEXTS } from "./kept-input.ts";
import { readPage } from "./page.ts";
import { readHistory } from "./store.ts";

const MAX_EVENTS = 10_000;

interface JobRow {
  readonly record: string;
  readonly prompt: string;
  readonly input: string;
  readonly result: string;
}

/** A job with its payload and result, for a reader or for a command on a job that has left the object. */
export const findArchived = (db: D1Database, tenant: string, id: string): Promise<Archived | null> =>
  readHistory(async () => {
    const row = await db
      .prepare(
        `SELECT record, prompt, ${KEPT_INPUT} AS input, input = '${NO_TEXTS}' AS is_without_texts, COALESCE(result, 'null') AS result FROM jobs
           JOIN payloads ON payloads.tenant = jobs.tenant AND payloads.job_id = jobs.id
           LEFT JOIN results ON results.tenant = jobs.tenant AND results.job_id = jobs.id
         WHERE jobs.tenant = ?1 AND jobs.id = ?2`,
      )
      .bind(tenant, id)
      .first<JobRow & { readonly is_without_texts: number }>();
    if (row === null) return null;
    return {
      isWithoutTexts: row.is_without_texts === 1,
      job: readJob(row.record),
      prompt: row.prompt,
      input: JSON.parse(row.input) as Json,
      result: JSON.parse(row.result) as Json,
    };
  });

/** A missing text is never too long for an answer. */
const NULL = "null";

interface ListedRow extends JobRow {
  readonly id: string;
  readonly sorted_by: number | null;
  readonly prompt_chars: number;
  readonly input_chars: number;
  readonly result_chars: number;
}

export interface JobPage {
  readonly jobs: JobResource[];
  readonly total: number;
  readonly total_is_capped: boolean;
  readonly next_cursor: string | null;
}

/** A page of the jobs that match a query, and how many match, up to the counting limit. */
export const listJobs = (db: D1Database, tenant: string, query: JobListQuery): Promise<JobPage> =>
  readHistory(async () => {
    if (query.cursor !== undefined && query.offset > 0)
      throw new Refused(invalid("offset", "cannot be combined with cursor: give one of the two"));
    const selection = selectionOf(query);
    const { rows, total } = await readPage<ListedRow>(
      db,
      pageStatement(db, tenant, query, selection),
      countStatement(db, tenant, selection),
    );
    const shown = rows.slice(0, query.limit);
    const last = shown.at(-1);
    const isLastPage = last === undefined || rows.length <= query.limit;
    return {
      jobs: shown.map((row) => presentListed(row, query.max_chars)),
      total: Math.min(total, MAX_COUNTED),
      total_is_capped: total > MAX_COUNTED,
      next_cursor: isLastPage ? null : writeCursor(query.sort, { value: last.sorted_by, id: last.id }),
    };
  });

/** How many jobs match; stops counting one above the limit. */
const countStatement = (db: D1Database, tenant: string, { from, where, bindings }: JobSelection) =>
  db
    .prepare(`SELECT COUNT(*) AS total FROM (SELECT 1 FROM ${from} WHERE ${where} LIMIT ${MAX_COUNTED + 1})`)
    .bind(tenant, ...bindings);

const sortColumn = (sort: JobSort, { createdAt }: JobSelection): string =>
  ({ created_at: createdAt, finished_at: "jobs.finished_at", cost_usd: "jobs.cost_nano_usd" })[sort];

/** Reads one more job than the page has, to know whether there is a next page. */
const pageStatement = (db: D1Database, tenant: string, query: JobListQuery, selection: JobSelection) => {
  const isAscending = query.sort.startsWith("-");
  const sort = query.sort.replace("-", "") as JobSort;
  const column = sortColumn(sort, selection);
  const bindings = [...selection.bindings];
  const bind = (value: string | number): string => `?${bindings.push(value) + 1}`;
  const from = query.cursor === undefined ? null : readCursor(query.sort, query.cursor);
  const after = from === null ? "" : `AND ${afterPlace(from, column, selection.id, isAscending, bind)}`;
  const order = (value: string, id: string): string =>
    isAscending ? `${value} ASC NULLS LAST, ${id} ASC` : `${value} DESC, ${id} DESC`;
  const chars = bind(query.max_chars);
  const jsonChars = bind(Math.max(query.max_chars, NULL.length));
  const sql = `SELECT id, sorted_by, record, substr(prompt, 1, ${chars}) AS prompt, length(prompt) AS prompt_chars,
      substr(${KEPT_INPUT}, 1, ${jsonChars}) AS input, length(input) AS input_chars,
      substr(COALESCE(result, '${NULL}'), 1, ${jsonChars}) AS result, length(result) AS result_chars
    FROM (SELECT jobs.tenant, jobs.id, jobs.record, ${column} AS sorted_by FROM ${selection.from}
          WHERE ${selection.where} ${after} ORDER BY ${order(column, selection.id)}
          LIMIT ${bind(query.limit + 1)} OFFSET ${bind(query.offset)}) AS listed
      JOIN payloads ON payloads.tenant = listed.tenant AND payloads.job_id = listed.id
      LEFT JOIN results ON results.tenant = listed.tenant AND results.job_id = listed.id
    ORDER BY ${order("sorted_by", "id")}`;
  return db.prepare(sql).bind(tenant, ...bindings);
};

/** After the last job of the previous page; jobs without the value come last. */
const afterPlace = (
  { value, id: lastId }: PlaceInList,
  column: string,
  id: string,
  isAscending: boolean,
  bind: (value: string | number) => string,
): string => {
  const past = isAscending ? ">" : "<";
  if (value === null) return `${column} IS NULL AND ${id} ${past} ${bind(lastId)}`;
  const isNullable = column.startsWith("jobs.") && column !== "jobs.created_at";
  const [at, last] = [bind(value), bind(lastId)];
  if (!isNullable) return `(${column}, ${id}) ${past} (${at}, ${last})`;
  // The plus keeps the planner on the index that orders the list.
  return `(+${column} ${past} ${at} OR (+${column} = ${at} AND ${id} ${past} ${last}) OR +${column} IS NULL)`;
};

const presentListed = (row: ListedRow, maxChars: number): JobResource => {
  const isShort = (name: "prompt" | "input" | "result"): boolean =>
    row[`${name}_chars`] <= maxChars || (name !== "prompt" && row[name] === NULL);
  const truncated = (["prompt", "input", "result"] as const).filter((name) => !isShort(name));
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

/** A job's events, oldest first. */
export const readTimeline = async (db: D1Database, tenant: string, id: string): Promise<Omit<JobEvent, "jobId">[]> => {
  const { results } = await db
    .prepare(
      `SELECT at, type, worker, lease, detail FROM events WHERE tenant = ?1 AND job_id = ?2
       ORDER BY version LIMIT ${MAX_EVENTS}`,
    )
    .bind(tenant, id)
    .all<EventRow>();
  return results.map((row) => ({ ...row, detail: JSON.parse(row.detail) as Json }));
};

/** A job's timeline for the API; null if there is no such job. */
export const jobTimeline = (db: D1Database, tenant: string, id: string): Promise<JobEventResource[] | null> =>
  readHistory(async () => {
    const timeline = await readTimeline(db, tenant, id);
    return timeline.length === 0 ? null : timeline.map(presentJobEvent);
  });
