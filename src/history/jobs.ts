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
import { countOf, selectionOf, type Way, wayTo } from "./job-filter.ts";
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

/** Of more, enough are soon found in any order; so many are collected from the index in some 20 ms. */
const MAX_COLLECTED = 100_000;

/**
 * The index, and a span of time, have jobs in the order of their creation, and a search in none. Few are sorted; of many,
 * a page is found sooner by reading rows in the list's order until enough of them match.
 */
const readListed = async (db: D1Database, tenant: string, query: JobListQuery): Promise<Listed> => {
  const way = await wayTo(db, tenant, query);
  const { lead } = way;
  const isByCreation = sortOf(query) === "created_at";
  const { counted } = selectionOf(tenant, query, way);
  // The index alone knows all that is asked, so that counting reads no rows.
  const isCollected = !isByCreation && counted.from === "job_terms";
  const count = countOf(db, tenant, counted, isCollected ? MAX_COLLECTED : MAX_COUNTED);
  if (query.count_only !== undefined) return { rows: [], total: (await count.first<number>("total")) ?? 0 };
  const hasSpan = query.since !== undefined || query.until !== undefined;
  const isSortedIfFew = lead === "ids" || (!isByCreation && (placeOf(lead) !== null || hasSpan));
  if (!isSortedIfFew) return readPage<ListedRow>(db, pageStatement(db, tenant, query, way), count);
  const total = (await count.first<number>("total")) ?? 0;
  const isFound = isCollected && total <= MAX_COLLECTED;
  const ordered = { ...way, lead: isByCreation ? "rows" : isFound ? "found" : "order" } as const;
  const page = pageStatement(db, tenant, query, total > MAX_COUNTED ? ordered : way);
  return { rows: (await page.all<ListedRow>()).results, total };
};

const sortOf = ({ sort }: JobListQuery): JobSort => sort.replace("-", "") as JobSort;

const SORT_COLUMNS: Readonly<Record<JobSort, string>> = {
  created_at: "jobs.created_at",
  finished_at: "jobs.finished_at",
  cost_usd: "jobs.cost_nano_usd",
};

/** What a lead has jobs in the order of, which is that of their creation; null: the list's order leads. */
const placeOf = (lead: Way["lead"]): string | null =>
  lead === "index" ? "job_terms.rowid" : lead === "unpriced" ? BY_ID : null;
const BY_ID = "told.job_id";

/** Row numbers grow with a tenant's jobs, so they order what is equal; the index has no other order. */
const orderOf = (query: JobListQuery, column: string | null, place: string): string => {
  const isAscending = query.sort.startsWith("-");
  const direction = isAscending ? "ASC" : "DESC";
  const byColumn = column === null ? "" : `${column} ${direction}${isAscending ? " NULLS LAST" : ""}, `;
  return `${byColumn}${place} ${direction}`;
};

/** Reads one more job than the page has, to know whether there is a next page. */
const pageStatement = (db: D1Database, tenant: string, query: JobListQuery, way: Way) => {
  const { lead } = way;
  const selection = selectionOf(tenant, query, way);
  const bindings = [...selection.bindings];
  const bind = (value: string | number): string => `?${bindings.push(value) + 1}`;
  const column = SORT_COLUMNS[sortOf(query)];
  const place = sortOf(query) === "created_at" ? placeOf(lead) : null;
  const after =
    query.cursor === undefined ? "" : `AND ${afterPlace(readCursor(query.sort, query.cursor), query, place, bind)}`;
  const texts = shortTextColumns(bind(query.max_chars), bind(Math.max(query.max_chars, NULL.length)));
  const order = place === null ? orderOf(query, column, "jobs.seq") : orderOf(query, null, place);
  const sql = `SELECT ${ARCHIVED_COLUMNS}, sorted_by, ${texts}
    FROM (SELECT jobs.seq AS place, ${column} AS sorted_by FROM ${selection.from}
          WHERE ${selection.where} ${after} ORDER BY ${order}
          LIMIT ${bind(query.limit + 1)} OFFSET ${bind(query.offset)}) AS listed
      CROSS JOIN jobs ON jobs.seq = listed.place ${TEXTS_OF_JOBS}
    ORDER BY ${orderOf(query, place === null ? "sorted_by" : null, "place")}`;
  return db.prepare(sql).bind(tenant, ...bindings);
};

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
  if (place === BY_ID) return `${place} ${past} ${bind(id)}`;
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
