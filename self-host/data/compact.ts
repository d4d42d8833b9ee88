// Gives the free pages of databases back to the disk, before anything opens them: a burst makes a tenant's file large
// for ever, because an object may not VACUUM. SQLite's own VACUUM leaves the file as it was if it breaks off anywhere.

import { statSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { MIB } from "../../domain/words/size.ts";
import { log } from "../../log/log.ts";
import type { DataDir } from "./data-dir.ts";
import { readDisk } from "./disk.ts";

/** always: whatever it takes; quick: what takes a second or two. */
export type Compaction = "always" | "quick" | "never";

/** Less is not worth the time, and is soon used again. */
const MIN_FREE_BYTES = 64 * MIB;
/** Of the file; also, what is free is at least what must be copied. */
const MIN_FREE_SHARE = 0.5;
/** What is in use is copied twice, at about 20 ms for each MiB. */
const QUICK_USED_BYTES = 64 * MIB;
const COPIES = 2;

interface Pages {
  readonly usedBytes: number;
  readonly freeBytes: number;
}

const pagesOf = (db: DatabaseSync): Pages => {
  const read = (name: string): number => Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
  const [size, free] = [read("page_size"), read("freelist_count")];
  return { usedBytes: (read("page_count") - free) * size, freeBytes: free * size };
};

const inMib = (bytes: number): string => `${Math.ceil(bytes / MIB)} MiB`;

/** Why what is mostly free is not compacted now, or null. */
export const obstacleOf = (usedBytes: number, diskFreeBytes: number, how: Compaction): string | null => {
  if (diskFreeBytes < COPIES * usedBytes + MIN_FREE_BYTES) return "the disk has too little room to copy what is in use";
  return how === "always" || usedBytes <= QUICK_USED_BYTES
    ? null
    : "it takes a while: start once with SERVICE_COMPACT=1";
};

const compactFile = (file: string, what: string, how: Compaction): void => {
  const db = new DatabaseSync(file);
  try {
    const { usedBytes, freeBytes } = pagesOf(db);
    if (freeBytes < MIN_FREE_BYTES || freeBytes < MIN_FREE_SHARE * (usedBytes + freeBytes)) return;
    const size = `${inMib(freeBytes)} of its ${inMib(usedBytes + freeBytes)} are free`;
    const obstacle = obstacleOf(usedBytes, readDisk(path.dirname(file)).freeBytes, how);
    if (obstacle !== null) {
      log("warn", "database.not_compacted", { what, detail: `${size}; ${obstacle}` });
      return;
    }
    const begunAt = performance.now();
    db.exec("VACUUM");
    const [checkpoint] = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all() as { busy: number }[];
    if (checkpoint?.busy !== 0) throw new Error("another process has it open");
    const detail = `${size}; compacted in ${Math.round(performance.now() - begunAt)} ms`;
    log("info", "database.compacted", { what, detail });
  } finally {
    db.close();
  }
};

/** Nothing else has the databases open. A file that cannot be compacted stays as it is. */
export const compactDatabases = ({ root }: DataDir, databases: readonly string[], how: Compaction): void => {
  if (how === "never") return;
  for (const file of databases) {
    if (statSync(file).size < MIN_FREE_BYTES) continue;
    const what = path.relative(root, file);
    try {
      compactFile(file, what, how);
    } catch (error) {
      log("error", "database.not_compacted", { what }, error);
    }
  }
};
