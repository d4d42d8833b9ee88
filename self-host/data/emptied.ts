// The databases of objects that have deleted all they had. Each leaves a file of one page for ever, because an object's
// file is not the object's to delete; to its object a file that is not there is the same. Only for when nothing has the
// files open: a server that starts, and a backup that has stopped the processes.

import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { log } from "../../log/log.ts";

const PAGE_BYTES = 4_096;
/** SQLite's file format: the first page begins with 100 bytes of the file, then comes the table of all tables. */
const TABLES_AT = 100;
const LEAF = 0x0d;
/** Behind the table's kind: how many rows it has. */
const COUNT_AT = TABLES_AT + 3;

/** Whether a database has no table at all. */
export const isEmptied = (file: string): boolean => {
  if (statSync(file).size !== PAGE_BYTES || existsSync(`${file}-wal`)) return false;
  const page = readFileSync(file);
  return page.readUInt8(TABLES_AT) === LEAF && page.readUInt16BE(COUNT_AT) === 0;
};

/** Returns those that are left. */
export const removeEmptied = (databases: readonly string[]): string[] => {
  const { emptied = [], kept = [] } = Object.groupBy(databases, (file) => (isEmptied(file) ? "emptied" : "kept"));
  for (const file of emptied) rmSync(file);
  if (emptied.length > 0)
    log("info", "database.emptied", { detail: `removed ${emptied.length} files of objects without data` });
  return kept;
};
