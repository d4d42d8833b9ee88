// Batches, and the answers of their lines that the objects of their files do not have yet.

import type { BatchRecord } from "../../domain/batch/batch.ts";
import type { LineAnswer } from "../../domain/batch/line-answer.ts";
import type { Json } from "../../domain/words/json.ts";
import { type Place, placesIn } from "./places.ts";
import { all, first, put, record, records, type Sql, scalar } from "./sql.ts";

/** The batches that a caller sees, and the place behind which a page begins. */
interface BatchPage {
  readonly ofKey: string | null;
  readonly form: BatchRecord["form"] | null;
  readonly limit: number;
}

const SEEN = "FROM batches WHERE (?1 IS NULL OR owner = ?1) AND (?2 IS NULL OR record ->> 'form' = ?2)";

export const batchesTable = (sql: Sql, { placeOf, deleteRow } = placesIn(sql, "batches")) => ({
  placeOf,

  find: (id: string): BatchRecord | null => record(sql, "SELECT record FROM batches WHERE id = ?", id),

  put: (batch: BatchRecord): void => {
    put(sql, "batches", {
      id: batch.id,
      owner: batch.keyId,
      file_id: batch.fileId,
      created_at: batch.createdAt,
      ended_at: batch.endedAt,
      record: JSON.stringify(batch),
    });
  },

  remove: deleteRow,

  /** Those that have not ended. */
  open: (): BatchRecord[] => records(sql, "SELECT record FROM batches WHERE ended_at IS NULL"),

  /** Newest first. */
  page: ({ ofKey, form, limit }: BatchPage, offset: number): BatchRecord[] =>
    records(
      sql,
      `SELECT record ${SEEN} ORDER BY created_at DESC, id DESC LIMIT ?3 OFFSET ?4`,
      ofKey,
      form,
      limit,
      offset,
    ),

  count: ({ ofKey, form }: Omit<BatchPage, "limit">): number =>
    scalar(sql, `SELECT COUNT(*) ${SEEN}`, ofKey, form) ?? 0,

  /** Newest first: those older than a batch, or the nearest newer ones. */
  beside: ({ ofKey, form, limit }: BatchPage, place: Place, isNewer: boolean): BatchRecord[] => {
    const [past, order] = isNewer ? [">", "ASC"] : ["<", "DESC"];
    const found = records<BatchRecord>(
      sql,
      `SELECT record ${SEEN} AND (created_at, id) ${past} (?3, ?4)
         ORDER BY created_at ${order}, id ${order} LIMIT ?5`,
      ofKey,
      form,
      place.createdAt,
      place.id,
      limit,
    );
    return isNewer ? found.reverse() : found;
  },

  endedBefore: (at: number, limit: number): BatchRecord[] =>
    records(sql, "SELECT record FROM batches WHERE ended_at < ? ORDER BY ended_at LIMIT ?", at, limit),

  oldestEndAt: (): number | null => scalar(sql, "SELECT MIN(ended_at) FROM batches WHERE ended_at IS NOT NULL"),

  total: (): number => scalar(sql, "SELECT COUNT(*) FROM batches") ?? 0,
});

/** Its body stands in it as JSON; without one, `body` is null. */
type WrittenAnswer = LineAnswer & { readonly json?: Json };

/** A body may have a megabyte, and a row two: as a string in JSON its quotes and line breaks would be escaped twice. */
const writtenAnswer = ({ body, ...rest }: LineAnswer): string => {
  const text = JSON.stringify({ ...rest, body: null });
  return body === null ? text : `${text.slice(0, -1)},"json":${body}}`;
};

const readAnswer = ({ json, ...answer }: WrittenAnswer): LineAnswer =>
  json === undefined ? answer : { ...answer, body: JSON.stringify(json) };

export const lineEndsTable = (sql: Sql) => ({
  /** The first answer of a line counts. */
  put: (batch: string, answer: LineAnswer): void => {
    const text = writtenAnswer(answer);
    sql.exec(
      "INSERT OR IGNORE INTO line_ends (batch, line, chars, answer) VALUES (?, ?, ?, ?)",
      batch,
      answer.line,
      text.length + (answer.resultFile?.bytes ?? 0),
      text,
    );
  },

  /** About as many as there is room for, with the files that are copied for them; at least one if there is any. */
  of: (batch: string, room: { readonly rows: number; readonly chars: number }): LineAnswer[] => {
    const answers: LineAnswer[] = [];
    let chars = 0;
    const lines = "SELECT line, chars FROM line_ends WHERE batch = ? ORDER BY line LIMIT ?";
    for (const row of all<{ line: number; chars: number }>(sql, lines, batch, room.rows)) {
      chars += row.chars;
      if (answers.length > 0 && chars > room.chars) break;
      const query = "SELECT answer FROM line_ends WHERE batch = ? AND line = ?";
      const answer = record<WrittenAnswer>(sql, query, batch, row.line);
      if (answer !== null) answers.push(readAnswer(answer));
    }
    return answers;
  },

  has: (batch: string): boolean => first(sql, "SELECT 1 FROM line_ends WHERE batch = ? LIMIT 1", batch) !== null,

  remove: (batch: string, lines: readonly number[]): void => {
    for (const line of lines) sql.exec("DELETE FROM line_ends WHERE batch = ? AND line = ?", batch, line);
  },

  forget: (batch: string): void => {
    sql.exec("DELETE FROM line_ends WHERE batch = ?", batch);
  },
});
