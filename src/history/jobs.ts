// Jobs and their timelines in history.

import { type JobEventResource, type JobResource, presentJob, presentJobEvent } from "../../contract/jobs/job.ts";
import { type JobListQuery, type JobSort, MAX_COUNTED } from "../../contract/jobs/job-list.ts";
import type { Archived } from "../../domain/job/archived-job.ts";
import { ARCHIVED_COLUMNS, type ArchivedRow, readArchived } from "../../domain/job/job-record.ts";
import { readStoredEvents } from "../../domain/job/stored-timeline.ts";
import type { JobEvent, JobEventType } from "../../domain/words/event.ts";
import type { Json } from "../../domain/words/json.ts";
import { invalid } from "../../domain/words/refusal.ts";
import { Refused } from "../http/refused.ts";
import { type PlaceInList, readCursor, writeCursor } from "./job-cursor.ts";
import {
  countOf,
  inOrder,
  inOrderOf,
  isOfIndex,
  type Selected,
  selectionOf,
  UNPRICED_PLACE,
  type Way,
  wayTo,
} from "./job-filter.ts";
import { shortTextColumns, TEXT_COLUMNS, TEXTS_OF_JOBS, type TextsRow, withTexts } from "./job-texts.ts";
import { readPage } from "./page.ts";
import { readHistory } from "./store.ts";

const MAX_EVENTS = 10_000;

interface JobRow extends ArchivedRow, TextsRow {}

/** A row with all of its texts. */
export interface WholeJobRow extends JobRow {
  readonly is_without_texts: number;
}

/** Jobs with their texts. */
export const WHOLE_JOBS = `SELECT ${ARCHIVED_COLUMNS}, ${TEXT_COLUMNS} FROM jobs ${TEXTS_OF_JOBS}`;

export const toArchived = async (row: WholeJobRow): Promise<Archived> => {
  const { prompt, input, result } = await withTexts(row);
  return {
    isWithoutTexts: row.is_without_texts === 1,
    job: readArchived(row),
    prompt,
    input: JSON.parse(input) as Json,
    result: JSON.parse(result) as Json,
  };
};

/** A job with its payload and result, for a reader or for a command on a job that has left the object. */
export const findArchived = (db: D1Database, tenant: string, id: string): Promise<Archived | null> =>
  readHistory(async () => {
    const row = await db
      .prepare(`${WHOLE_JOBS} WHERE jobs.tenant = ?1 AND jobs.id = ?2`)
      .bind(tenant, id)
      .first<WholeJobRow>();
    return row === null ? null : toArchived(row);
  });

/** Their texts are not all unpacked at once. */
const oneByOne = async <T, U>(all: readonly T[], work: (one: T) => Promise<U>): Promise<U[]> => {
  const done: U[] = [];
  for (const one of all) done.push(await work(one));
  return done;
};

/** Many at a time; their order is not that of the ids. */
export const findManyWhole = async (db: D1Database, tenant: string, ids: readonly string[]): Promise<Archived[]> => {
  const { results } = await db
    .prepare(`${WHOLE_JOBS} WHERE jobs.tenant = ?1 AND jobs.id IN (SELECT value FROM json_each(?2))`)
    .bind(tenant, JSON.stringify(ids))
    .all<WholeJobRow>();
  return oneByOne(results, toArchived);
};

/** A missing text is never too long for an answer. */
const NULL = "null";

interface ListedRow extends JobRow {
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
  readonly damaged_parts?: string[];
}

/** A page of the jobs that match a query, and how many match, up to the counting limit. */
export const listJobs = (db: D1Database, tenant: string, query: JobListQuery): Promise<JobPage> =>
  readHistory(async () => {
    if (query.cursor !== undefined && query.offset > 0)
      throw new Refused(invalid("offset", "cannot be combined with cursor: give one of the two"));
    const { rows, total } = await readListed(db, tenant, query);
    const shown = rows.slice(0, query.limit);
    const last = shown.at(-1);
    const isLastPage = last === undefined || rows.length <= query.limit;
    return {
      jobs: await oneByOne(shown, async (row) => presentListed(await withTexts(row), query.max_chars)),
      total: Math.min(total, MAX_COUNTED),
      total_is_capped: total > MAX_COUNTED,
      next_cursor: isLastPage ? null : writeCursor(query.sort, { value: last.sorted_by, id: last.id }),
    };
  });

interface Listed {
  readonly rows: readonly ListedRow[];
  readonly total: number;
}

/**
 * The index has jobs in the order of their creation. In another order few are sorted; of many, a page is found sooner by
 * going through the jobs in that order.
 */
const readListed = async (db: D1Database, tenant: string, query: JobListQuery): Promise<Listed> => {
  const way = await wayTo(db, tenant, query);
  const newest = selectionOf(tenant, query, way, { limit: MAX_COUNTED + 1, isOldest: false });
  const count = countOf(db, tenant, newest.counted);
  const counted = async (): Promise<number> => (await count.first<number>("total")) ?? 0;
  if (query.count_only !== undefined) return { rows: [], total: await counted() };
  if (sortOf(query) === "created_at") {
    if (query.cursor === undefined && isOfIndex(query, way))
      return readFound(db, tenant, query, newest.counted, counted);
    return readPage<ListedRow>(db, pageStatement(db, tenant, query, nearestOf(tenant, query, way)), count);
  }
  if (way.lead === "rows" && query.since === undefined && query.until === undefined)
    return readPage<ListedRow>(db, pageStatement(db, tenant, query, inOrder(query)), count);
  const total = await counted();
  const selection = total > MAX_COUNTED ? await ofMany(db, tenant, query, way) : newest;
  return { rows: (await pageStatement(db, tenant, query, selection).all<ListedRow>()).results, total };
};

const isOldestFirst = ({ sort }: JobListQuery): boolean => sort.startsWith("-");

const nearestOf = (tenant: string, query: JobListQuery, way: Way): Selected => {
  const { cursor, sort, offset, limit } = query;
  const place = cursor === undefined ? null : readCursor(sort, cursor);
  const nearest = { limit: offset + limit + 1, isOldest: isOldestFirst(query) };
  if (place === null) return selectionOf(tenant, query, way, nearest);
  return selectionOf(tenant, query, way, { ...nearest, after: (of, bind) => afterPlace(place, query, of, bind) });
};

/** What the index finds is gone through once, for the page and the count. */
const readFound = async (
  db: D1Database,
  tenant: string,
  query: JobListQuery,
  found: Selected,
  counted: () => Promise<number>,
): Promise<Listed> => {
  const { results: rows } = await pageStatement(db, tenant, query, found, true).all<ListedRow & { total: number }>();
  return { rows, total: rows[0]?.total ?? (query.offset === 0 ? 0 : await counted()) };
};

/** In an order by end or cost, of a filter's jobs only so many are known: the newest, or the oldest if these are first. */
const MAX_COLLECTED = 250_000;
/** So many jobs are looked at for each of a page, to learn whether going through all will soon find enough. */
const LOOKED_AT = 40;
const MAX_LOOKED_AT = 50_000;

/** By each job's row, if these are soon enough; else only of jobs that the index finds, which is no row of a job. */
const ofMany = async (db: D1Database, tenant: string, query: JobListQuery, way: Way): Promise<Selected> => {
  if (way.lead === "rows") return inOrder(query);
  if (query.q === undefined && (await areSoonFound(db, tenant, query))) return inOrder(query);
  const isOldest = query.sort === "-finished_at";
  const nearest = { limit: MAX_COLLECTED, isOldest };
  return inOrderOf(selectionOf(tenant, query, way, nearest).counted, nearest);
};

const areSoonFound = async (db: D1Database, tenant: string, query: JobListQuery): Promise<boolean> => {
  const { where, bindings: asked } = inOrder(query);
  const bindings = [...asked];
  const bind = (value: string | number): string => `?${bindings.push(value) + 1}`;
  const wanted = query.offset + query.limit + 1;
  const first = `SELECT jobs.seq AS place FROM jobs WHERE jobs.tenant = ?1 ${afterCursor(query, null, bind)}
    ORDER BY ${orderOf(query, SORT_COLUMNS[sortOf(query)], "jobs.seq")} LIMIT ${Math.min(wanted * LOOKED_AT, MAX_LOOKED_AT)}`;
  const sql = `SELECT COUNT(*) AS total FROM (SELECT 1 FROM (${first}) AS looked_at
    CROSS JOIN jobs ON jobs.seq = looked_at.place WHERE ${where} LIMIT ${wanted})`;
  const total = await db
    .prepare(sql)
    .bind(tenant, ...bindings)
    .first<number>("total");
  return total === wanted;
};

const sortOf = ({ sort }: JobListQuery): JobSort => sort.replace("-", "") as JobSort;

const SORT_COLUMNS: Readonly<Record<JobSort, string>> = {
  created_at: "jobs.created_at",
  finished_at: "jobs.finished_at",
  cost_usd: "jobs.cost_nano_usd",
};

/** Row numbers grow with a tenant's jobs, so they order what is equal; the index has no other order. */
const orderOf = (query: JobListQuery, column: string | null, place: string): string => {
  const isAscending = query.sort.startsWith("-");
  const direction = isAscending ? "ASC" : "DESC";
  const byColumn = column === null ? "" : `${column} ${direction}${isAscending ? " NULLS LAST" : ""}, `;
  return `${byColumn}${place} ${direction}`;
};

/** Reads one more job than the page has, to know whether there is a next page. `isCounted`: and how many there are. */
const pageStatement = (db: D1Database, tenant: string, query: JobListQuery, selected: Selected, isCounted = false) => {
  const bindings = [...selected.bindings];
  const bind = (value: string | number): string => `?${bindings.push(value) + 1}`;
  const column = SORT_COLUMNS[sortOf(query)];
  const place = sortOf(query) === "created_at" ? selected.place : null;
  const order = place === null ? orderOf(query, column, "jobs.seq") : orderOf(query, null, place);
  const texts = shortTextColumns(bind(query.max_chars), bind(Math.max(query.max_chars, NULL.length)));
  const { from, where, seq } = selected;
  const all = `SELECT ${seq} AS place FROM ${from} WHERE ${where} ${afterCursor(query, place, bind)} ORDER BY ${order}`;
  const part = `LIMIT ${bind(query.limit + 1)} OFFSET ${bind(query.offset)}`;
  const most = Math.max(MAX_COUNTED, query.offset + query.limit) + 1;
  const found = isCounted ? `WITH found AS MATERIALIZED (${all} LIMIT ${most})` : "";
  const listed = isCounted ? `SELECT place FROM found ORDER BY ${orderOf(query, null, "place")}` : all;
  const total = isCounted ? "(SELECT COUNT(*) FROM found) AS total," : "";
  const sql = `${found} SELECT ${total} ${ARCHIVED_COLUMNS}, ${column} AS sorted_by, ${texts}
    FROM (${listed} ${part}) AS listed CROSS JOIN jobs ON jobs.seq = listed.place ${TEXTS_OF_JOBS}
    ORDER BY ${orderOf(query, place === null ? "sorted_by" : null, "place")}`;
  return db.prepare(sql).bind(tenant, ...bindings);
};

const afterCursor = (query: JobListQuery, place: string | null, bind: (value: string | number) => string): string =>
  query.cursor === undefined ? "" : `AND ${afterPlace(readCursor(query.sort, query.cursor), query, place, bind)}`;

/** After the last job of the previous page, which may be gone; jobs without the value come last. */
const afterPlace = (
  { value, id }: PlaceInList,
  query: JobListQuery,
  place: string | null,
  bind: (value: string | number) => string,
): string => {
  const isAscending = query.sort.startsWith("-");
  const past = isAscending ? ">" : "<";
  const column = SORT_COLUMNS[sortOf(query)];
  if (place === UNPRICED_PLACE) return `${place} ${past} ${bind(id)}`;
  const seq = isAscending
    ? `COALESCE((SELECT seq FROM jobs WHERE tenant = ?1 AND id <= ${bind(id)} ORDER BY id DESC LIMIT 1), 0)`
    : `COALESCE((SELECT seq FROM jobs WHERE tenant = ?1 AND id >= ${bind(id)} ORDER BY id LIMIT 1), ${LAST_PLACE})`;
  if (place !== null) return `${place} ${past} ${seq}`;
  if (value === null) return `${column} IS NULL AND jobs.seq ${past} ${seq}`;
  const at = bind(value);
  if (sortOf(query) === "created_at") return `(${column}, jobs.seq) ${past} (${at}, ${seq})`;
  // The plus keeps the planner on the index that orders the list.
  return `(+${column} ${past} ${at} OR (+${column} = ${at} AND jobs.seq ${past} ${seq}) OR +${column} IS NULL)`;
};

const LAST_PLACE = Number.MAX_SAFE_INTEGER;

const presentListed = (row: ListedRow, maxChars: number): JobResource => {
  const isShort = (name: "prompt" | "input" | "result"): boolean =>
    row[`${name}_chars`] <= maxChars || (name !== "prompt" && row[name] === NULL);
  const truncated = (["prompt", "input", "result"] as const).filter((name) => !isShort(name));
  const json = (name: "input" | "result"): Json => (truncated.includes(name) ? null : (JSON.parse(row[name]) as Json));
  // As SQLite cuts what is not packed.
  const isPacked = row.packed_start !== null || row.packed_prompt !== null;
  const prompt = isPacked ? [...row.prompt].slice(0, maxChars).join("") : row.prompt;
  const job = presentJob(readArchived(row), { prompt, input: json("input") }, json("result"));
  return truncated.length === 0 ? job : { ...job, truncated };
};

interface EventRow<Detail = string> {
  readonly version: number;
  readonly at: number;
  readonly type: JobEventType;
  readonly worker: string | null;
  readonly lease: number;
  readonly detail: Detail;
}

/** A job's events, oldest first. */
export const readTimeline = async (db: D1Database, tenant: string, id: string): Promise<Omit<JobEvent, "jobId">[]> => {
  const [inRow, others] = await db.batch([
    db.prepare("SELECT events FROM jobs WHERE tenant = ?1 AND id = ?2").bind(tenant, id),
    db
      .prepare(
        `SELECT version, at, type, worker, lease, detail FROM events WHERE tenant = ?1 AND job_id = ?2
         ORDER BY version LIMIT ${MAX_EVENTS}`,
      )
      .bind(tenant, id),
  ]);
  const [row] = (inRow?.results ?? []) as { events: string | null }[];
  return timelineOf(row?.events ?? null, (others?.results ?? []) as EventRow[]);
};

/** The same of many jobs, by id. */
export const readTimelines = async (
  db: D1Database,
  tenant: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly Omit<JobEvent, "jobId">[]>> => {
  const listed = "(SELECT value FROM json_each(?2))";
  const [inRows, others] = await db.batch(
    [
      `SELECT id, events FROM jobs WHERE tenant = ?1 AND id IN ${listed}`,
      `SELECT job_id, version, at, type, worker, lease, detail FROM events WHERE tenant = ?1 AND job_id IN ${listed}`,
    ].map((sql) => db.prepare(sql).bind(tenant, JSON.stringify(ids))),
  );
  const byJob = Map.groupBy((others?.results ?? []) as (EventRow & { job_id: string })[], ({ job_id }) => job_id);
  const jobs = (inRows?.results ?? []) as { id: string; events: string | null }[];
  return new Map(jobs.map(({ id, events }) => [id, timelineOf(events, byJob.get(id) ?? [])]));
};

/** The first events, of the job's row, and further ones. */
const timelineOf = (inRow: string | null, others: readonly EventRow[]): Omit<JobEvent, "jobId">[] => {
  const rows = others.map((one) => ({ ...one, detail: JSON.parse(one.detail) as Json }));
  const byVersion = new Map([...readStoredEvents(inRow ?? "[]"), ...rows].map((event) => [event.version, event]));
  const inOrder = [...byVersion.values()].sort((one, other) => one.version - other.version);
  return inOrder.slice(0, MAX_EVENTS).map(withoutVersion);
};

const withoutVersion = ({ at, type, worker, lease, detail }: EventRow<Json>): Omit<JobEvent, "jobId"> => ({
  ...{ at, type, worker, lease, detail },
});

/** A job's timeline for the API; null if there is no such job. */
export const jobTimeline = (db: D1Database, tenant: string, id: string): Promise<JobEventResource[] | null> =>
  readHistory(async () => {
    const timeline = await readTimeline(db, tenant, id);
    return timeline.length === 0 ? null : timeline.map(presentJobEvent);
  });
