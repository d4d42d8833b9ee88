// The order of a list: by creation, which is that of row numbers, by end or by cost; and what comes after a place in it.

import type { JobListQuery, JobSort } from "../../../contract/jobs/job-list.ts";
import { type PlaceInList, readCursor } from "../job-cursor.ts";
import type { Bind } from "./conditions.ts";
import { UNPRICED_PLACE } from "./selection.ts";

export const sortOf = ({ sort }: JobListQuery): JobSort => sort.replace("-", "") as JobSort;
export const isAscending = ({ sort }: JobListQuery): boolean => sort.startsWith("-");

const SORT_COLUMNS: Readonly<Record<JobSort, string>> = {
  created_at: "jobs.created_at",
  finished_at: "jobs.finished_at",
  cost_usd: "jobs.cost_nano_usd",
};
export const columnOf = (query: JobListQuery): string => SORT_COLUMNS[sortOf(query)];

/** Row numbers grow with a tenant's jobs, so they order what is equal; the index has no other order. */
export const orderOf = (query: JobListQuery, column: string | null, place: string): string => {
  const direction = isAscending(query) ? "ASC" : "DESC";
  const byColumn = column === null ? "" : `${column} ${direction}${isAscending(query) ? " NULLS LAST" : ""}, `;
  return `${byColumn}${place} ${direction}`;
};

/** `place`: as in `Selected`. */
export const afterCursor = (query: JobListQuery, place: string | null, bind: Bind): string =>
  query.cursor === undefined ? "" : `AND ${afterPlace(readCursor(query.sort, query.cursor), query, place, bind)}`;

const LAST_PLACE = Number.MAX_SAFE_INTEGER;

/** After the last job of the previous page, which may be gone; jobs without the value come last. */
export const afterPlace = (
  { value, id }: PlaceInList,
  query: JobListQuery,
  place: string | null,
  bind: Bind,
): string => {
  const past = isAscending(query) ? ">" : "<";
  const column = columnOf(query);
  if (place === UNPRICED_PLACE) return `${place} ${past} ${bind(id)}`;
  const seq = isAscending(query)
    ? `COALESCE((SELECT seq FROM jobs WHERE tenant = ?1 AND id <= ${bind(id)} ORDER BY id DESC LIMIT 1), 0)`
    : `COALESCE((SELECT seq FROM jobs WHERE tenant = ?1 AND id >= ${bind(id)} ORDER BY id LIMIT 1), ${LAST_PLACE})`;
  if (place !== null) return `${place} ${past} ${seq}`;
  if (value === null) return `${column} IS NULL AND jobs.seq ${past} ${seq}`;
  const at = bind(value);
  if (sortOf(query) === "created_at") return `(${column}, jobs.seq) ${past} (${at}, ${seq})`;
  // The plus keeps the planner on the index that orders the list.
  return `(+${column} ${past} ${at} OR (+${column} = ${at} AND jobs.seq ${past} ${seq}) OR +${column} IS NULL)`;
};
