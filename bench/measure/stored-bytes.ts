// The size of the databases below a folder, read after their server has stopped: pages in use, without write-ahead logs
// and free pages.

import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";

export interface Stored {
  /** Bytes in pages in use. */
  usedBytes: number;
  /** Bytes of the files, including free pages. */
  fileBytes: number;
  /** Bytes by table, including its indexes. */
  byTable: ReadonlyMap<string, number>;
}

export const storedBelow = (folder: string): Stored => {
  const byTable = new Map<string, number>();
  let usedBytes = 0;
  let fileBytes = 0;
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".sqlite")) continue;
    const database = new DatabaseSync(path.join(folder, name), { readOnly: true });
    const pragma = (what: string) => Number(Object.values(database.prepare(`PRAGMA ${what}`).get() ?? {})[0]);
    fileBytes += pragma("page_count") * pragma("page_size");
    usedBytes += (pragma("page_count") - pragma("freelist_count")) * pragma("page_size");
    for (const row of database.prepare(BY_TABLE).all() as { name: string; bytes: number }[]) {
      byTable.set(row.name, (byTable.get(row.name) ?? 0) + row.bytes);
    }
    database.close();
  }
  return { usedBytes, fileBytes, byTable };
};

const BY_TABLE = `SELECT COALESCE(sqlite_schema.tbl_name, dbstat.name) AS name, SUM(pgsize) AS bytes
  FROM dbstat LEFT JOIN sqlite_schema ON sqlite_schema.name = dbstat.name GROUP BY 1`;

/** Bytes of the files below a folder. */
export const bytesBelow = (folder: string, which = /./): number =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => ({ name, found: statSync(path.join(folder, name), { throwIfNoEntry: false }) }))
    .filter(({ name, found }) => found?.isFile() && which.test(name))
    .reduce((sum, { found }) => sum + (found?.size ?? 0), 0);

/** The same of database files, including logs, while their server runs. */
export const databaseFilesBelow = (folder: string): number => bytesBelow(folder, /\.sqlite(-wal)?$/);
