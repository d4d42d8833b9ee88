// The jobs of a bulk change: counts all that match the filter, and lists the oldest that may be changed.

import { type BulkAction, type JobFilter, MAX_BULK_JOBS } from "../../contract/jobs/job-list.ts";
import type { Brought } from "../../domain/job/archived-job.ts";
import { CHANGEABLE_STATUSES } from "../../domain/words/job-status.ts";
import { selectionOf, statusWord, type Way, wayTo } from "./job-filter.ts";
import { toArchived, WHOLE_JOBS, type WholeJobRow } from "./jobs.ts";
import { readHistory } from "./store.ts";

export interface BulkSelection {
  readonly matched: number;
  /** How many of them the action may change, as far as history tells. */
  readonly changeable: number;
  /** The oldest of these, at most `MAX_BULK_JOBS`. */
  readonly ids: readonly string[];
}

/** A client's request, and a line of a batch, is never tried again: it takes no other job's place among the oldest. */
const ALSO_REQUIRED: Readonly<Record<BulkAction, string>> = {
  retry: " AND jobs.record ->> '$.api' IS NULL",
  cancel: "",
};

const isChangeableBy = (action: BulkAction): string =>
  `(+jobs.status IN (${CHANGEABLE_STATUSES[action].map((status) => `'${status}'`).join(", ")})${ALSO_REQUIRED[action]})`;

/** The full-text index knows the statuses: of all other jobs no row is read. */
const changeableBy = (tenant: string, action: BulkAction, way: Way): Way =>
  way.lead === "unpriced"
    ? way
    : { ...way, lead: "index", words: [...way.words, statusWord(tenant, CHANGEABLE_STATUSES[action])] };

export const selectForBulk = (
  db: D1Database,
  tenant: string,
  action: BulkAction,
  filter: JobFilter,
): Promise<BulkSelection> =>
  readHistory(async () => {
    const way = await wayTo(db, tenant, filter);
    const { counted: all } = selectionOf(tenant, filter, way);
    const { from, where, bindings, place } = selectionOf(tenant, filter, changeableBy(tenant, action, way));
    const order = place ?? "jobs.created_at, jobs.seq";
    const isChangeable = isChangeableBy(action);
    const [counted, changeable, found] = await db.batch([
      db.prepare(`SELECT COUNT(*) AS total FROM ${all.from} WHERE ${all.where}`).bind(tenant, ...all.bindings),
      db.prepare(`SELECT COUNT(*) AS total FROM ${from} WHERE ${where} AND ${isChangeable}`).bind(tenant, ...bindings),
      db
        .prepare(
          `SELECT jobs.id FROM ${from} WHERE ${where} AND ${isChangeable} ORDER BY ${order} LIMIT ${MAX_BULK_JOBS}`,
        )
        .bind(tenant, ...bindings),
    ]);
    const totalOf = (one: D1Result | undefined): number => ((one?.results ?? []) as { total: number }[])[0]?.total ?? 0;
    return {
      matched: totalOf(counted),
      changeable: totalOf(changeable),
      ids: ((found?.results ?? []) as { id: string }[]).map((row) => row.id),
    };
  });

/** Jobs that have left the object, with what a command on them needs. */
export const findManyArchived = (
  db: D1Database,
  tenant: string,
  ids: readonly string[],
  absentAt: number,
): Promise<{ id: string; archived: Brought }[]> =>
  readHistory(async () => {
    const { results } = await db
      .prepare(`${WHOLE_JOBS} WHERE jobs.tenant = ?1 AND jobs.id IN (SELECT value FROM json_each(?2))`)
      .bind(tenant, JSON.stringify(ids))
      .all<WholeJobRow>();
    const found: { id: string; archived: Brought }[] = [];
    for (const row of results)
      found.push({ id: row.id, archived: { ...(await toArchived(row)), result: null, absentAt } });
    return found;
  });
