// Files: their records. The bytes are elsewhere (`files/stored-file.ts`).

import { type FileRecord, type FilesHeld, newShelvedId } from "../../domain/file/file.ts";
import { type Place, placesIn } from "./places.ts";
import { cells, first, put, record, records, type Sql, scalar } from "./sql.ts";

interface FilePage {
  readonly purpose: string | null;
  /** Files of this key and of its jobs only. */
  readonly ofKey: string | null;
  readonly nowAt: number;
}

/** Those that can be read: received whole, and not past their end. All that is asked is in the index. */
const LISTED = `FROM files INDEXED BY files_listed WHERE is_whole = 1 AND expires_at > ?1 AND (?2 IS NULL OR purpose = ?2)
  AND (?3 IS NULL OR owner = ?3)`;

/** Records are read for a page alone. */
const recordsOf = (page: string, order: "ASC" | "DESC"): string =>
  `SELECT record FROM (${page}) AS listed CROSS JOIN files USING (id) ORDER BY created_at ${order}, id ${order}`;

/** In place of an owner. */
const ALL = "";

const shelvedIds = newShelvedId("*");

/** Adds to what all files take, and to what those of their owner do. */
const count = (sql: Sql, owner: string | null, files: number, bytes: number): void => {
  for (const of of new Set([ALL, owner ?? ALL]))
    sql.exec(
      `INSERT INTO file_sums (owner, files, bytes) VALUES (?1, ?2, ?3)
       ON CONFLICT (owner) DO UPDATE SET files = files + ?2, bytes = bytes + ?3`,
      of,
      files,
      bytes,
    );
  sql.exec("DELETE FROM file_sums WHERE owner = ? AND files = 0", owner);
};

const counted = (sql: Sql, id: string) =>
  first<{ owner: string | null; bytes: number }>(sql, "SELECT owner, bytes FROM files WHERE id = ?", id);

export const filesTable = (sql: Sql, { placeOf, deleteRow } = placesIn(sql, "files")) => ({
  placeOf,

  find: (id: string): FileRecord | null => record(sql, "SELECT record FROM files WHERE id = ?", id),

  put: (file: FileRecord): void => {
    const before = counted(sql, file.id);
    count(sql, file.ownerKeyId, before === null ? 1 : 0, file.bytes - (before?.bytes ?? 0));
    put(sql, "files", {
      id: file.id,
      owner: file.ownerKeyId,
      purpose: file.purpose,
      job_id: file.jobId,
      bytes: file.bytes,
      is_whole: Number(file.sha256 !== null),
      created_at: file.createdAt,
      expires_at: file.expiresAt,
      record: JSON.stringify(file),
    });
  },

  /** Files that were views of others came here as bytes of their own. */
  ownTheirBytes: (): void => {
    sql.exec("UPDATE files SET record = json_remove(record, '$.view') WHERE record ->> '$.view' IS NOT NULL");
  },

  remove: (id: string): void => {
    const file = counted(sql, id);
    if (file === null) return;
    count(sql, file.owner, -1, -file.bytes);
    deleteRow(id);
  },

  /** Newest first. */
  page: ({ purpose, ofKey, nowAt }: FilePage, limit: number, offset: number): FileRecord[] =>
    records(
      sql,
      recordsOf(`SELECT id ${LISTED} ORDER BY created_at DESC, id DESC LIMIT ?4 OFFSET ?5`, "DESC"),
      nowAt,
      purpose,
      ofKey,
      limit,
      offset,
    ),

  count: ({ purpose, ofKey, nowAt }: FilePage): number =>
    scalar(sql, `SELECT COUNT(*) ${LISTED}`, nowAt, purpose, ofKey) ?? 0,

  /** The page behind a file, in order of creation or its reverse. */
  after: (
    { purpose, ofKey, nowAt }: FilePage,
    place: { readonly after: Place | null; readonly isAscending: boolean; readonly limit: number },
  ): FileRecord[] => {
    const past = place.isAscending ? ">" : "<";
    const order = place.isAscending ? "ASC" : "DESC";
    return records(
      sql,
      recordsOf(
        `SELECT id ${LISTED} AND (created_at, id) ${past} (?4, ?5) ORDER BY created_at ${order}, id ${order} LIMIT ?6`,
        order,
      ),
      nowAt,
      purpose,
      ofKey,
      place.after?.createdAt ?? (place.isAscending ? 0 : Number.MAX_SAFE_INTEGER),
      place.after?.id ?? "",
      place.limit,
    );
  },

  outputsOf: (jobId: string): FileRecord[] =>
    records(sql, "SELECT record FROM files WHERE job_id = ? AND is_whole = 1 ORDER BY created_at, id", jobId),

  /** All of them, or those of an owner. */
  held: (owner = ALL): FilesHeld =>
    first(sql, "SELECT files AS count, bytes FROM file_sums WHERE owner = ?", owner) ?? { count: 0, bytes: 0 },

  /** Some that have objects of their own. */
  someAlone: (limit: number): FileRecord[] =>
    records(sql, "SELECT record FROM files WHERE id NOT GLOB ? LIMIT ?", shelvedIds, limit),

  allShelved: (): string[] => cells(sql, "SELECT id FROM files WHERE id GLOB ?", shelvedIds),

  nextEndAt: (): number | null => scalar(sql, "SELECT MIN(expires_at) FROM files"),

  ended: (nowAt: number, limit: number): FileRecord[] =>
    records(sql, "SELECT record FROM files WHERE expires_at <= ? ORDER BY expires_at LIMIT ?", nowAt, limit),
});
