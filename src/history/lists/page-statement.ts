// The statement that reads a page of a list: which jobs, as row numbers, and then what is shown of each.

import { type JobListQuery, MAX_COUNTED } from "../../../contract/jobs/job-list.ts";
import { ARCHIVED_COLUMNS, type ArchivedRow } from "../../../domain/job/job-record.ts";
import { shortTextColumns, TEXTS_OF_JOBS, type TextsRow } from "../job-texts.ts";
import type { TenantHistory } from "../tenant-history.ts";
import { binding } from "./conditions.ts";
import { afterCursor, columnOf, orderOf, sortOf } from "./order.ts";
import type { Selected } from "./selection.ts";

export interface ListedRow extends ArchivedRow, TextsRow {
  readonly sorted_by: number | null;
  readonly prompt_chars: number;
  readonly input_chars: number;
  readonly result_chars: number;
}

/** A missing text is never too long for an answer. */
export const NULL = "null";

/** Reads one more job than the page has, to know whether there is a next page. `isCounted`: and how many there are. */
export const pageStatement = (
  history: TenantHistory,
  query: JobListQuery,
  selected: Selected,
  isCounted = false,
): D1PreparedStatement => {
  const { bindings, bind } = binding(selected.bindings);
  const column = columnOf(query);
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
  return history.statement(sql, ...bindings);
};
