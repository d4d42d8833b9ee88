// Jobs and their timelines in history.

import { type JobEventResource, presentJobEvent } from "../../contract/jobs/job.ts";
import type { Archived } from "../../domain/job/archived-job.ts";
import { ARCHIVED_COLUMNS, type ArchivedRow, readArchived } from "../../domain/job/job-record.ts";
import { readStoredEvents } from "../../domain/job/stored-timeline.ts";
import type { JobEvent, JobEventType } from "../../domain/words/event.ts";
import type { Json } from "../../domain/words/json.ts";
import { TEXT_COLUMNS, TEXTS_OF_JOBS, type TextsRow, withTexts } from "./job-texts.ts";
import { readHistory } from "./store.ts";
import type { TenantHistory } from "./tenant-history.ts";

/** Of the details of events that one answer has: all tenants' statements wait for the one that reads them. */
const MAX_DETAIL_CHARS = 2_000_000;

/** A row with all of its texts. */
interface WholeJobRow extends ArchivedRow, TextsRow {
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
export const findArchived = (history: TenantHistory, id: string): Promise<Archived | null> =>
  readHistory(async () => {
    const row = await history
      .statement(`${WHOLE_JOBS} WHERE jobs.tenant = ?1 AND jobs.id = ?2`, id)
      .first<WholeJobRow>();
    return row === null ? null : toArchived(row);
  });

/** Their texts are not all unpacked at once. */
export const oneByOne = async <T, U>(all: readonly T[], work: (one: T) => Promise<U>): Promise<U[]> => {
  const done: U[] = [];
  for (const one of all) done.push(await work(one));
  return done;
};

/** Many at a time; their order is not that of the ids. */
export const wholeRows = async (history: TenantHistory, ids: readonly string[]): Promise<WholeJobRow[]> => {
  const { results } = await history
    .statement(
      `${WHOLE_JOBS} WHERE jobs.tenant = ?1 AND jobs.id IN (SELECT value FROM json_each(?2))`,
      JSON.stringify(ids),
    )
    .all<WholeJobRow>();
  return results;
};

export const findManyWhole = async (history: TenantHistory, ids: readonly string[]): Promise<Archived[]> =>
  oneByOne(await wholeRows(history, ids), toArchived);

interface EventRow<Detail = string> {
  readonly version: number;
  readonly at: number;
  readonly type: JobEventType;
  readonly worker: string | null;
  readonly lease: number;
  readonly detail: Detail;
}

/** Jobs' events by id, oldest first: of a long timeline the beginning. */
export const readTimelines = async (
  history: TenantHistory,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly Omit<JobEvent, "jobId">[]>> => {
  const listed = "(SELECT value FROM json_each(?2))";
  const [inRows, others] = await history.db.batch(
    [
      `SELECT id, events FROM jobs WHERE tenant = ?1 AND id IN ${listed}`,
      `SELECT * FROM (SELECT *, SUM(length(detail)) OVER (PARTITION BY job_id ORDER BY version) AS chars
        FROM events WHERE tenant = ?1 AND job_id IN ${listed}) WHERE chars < ${MAX_DETAIL_CHARS}`,
    ].map((sql) => history.statement(sql, JSON.stringify(ids))),
  );
  const byJob = Map.groupBy((others?.results ?? []) as (EventRow & { job_id: string })[], ({ job_id }) => job_id);
  const jobs = (inRows?.results ?? []) as { id: string; events: string | null }[];
  return new Map(jobs.map(({ id, events }) => [id, timelineOf(events, byJob.get(id) ?? [])]));
};

export const readTimeline = async (history: TenantHistory, id: string): Promise<readonly Omit<JobEvent, "jobId">[]> =>
  (await readTimelines(history, [id])).get(id) ?? [];

/** The first events, of the job's row, and further ones. */
const timelineOf = (inRow: string | null, others: readonly EventRow[]): Omit<JobEvent, "jobId">[] => {
  const rows = others.map((one) => ({ ...one, detail: JSON.parse(one.detail) as Json }));
  const byVersion = new Map([...readStoredEvents(inRow ?? "[]"), ...rows].map((event) => [event.version, event]));
  return [...byVersion.values()].sort((one, other) => one.version - other.version).map(withoutVersion);
};

const withoutVersion = ({ at, type, worker, lease, detail }: EventRow<Json>): Omit<JobEvent, "jobId"> => ({
  ...{ at, type, worker, lease, detail },
});

/** A job's timeline for the API; null if there is no such job. */
export const jobTimeline = (history: TenantHistory, id: string): Promise<JobEventResource[] | null> =>
  readHistory(async () => {
    const timeline = await readTimeline(history, id);
    return timeline.length === 0 ? null : timeline.map(presentJobEvent);
  });
