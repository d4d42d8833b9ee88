// The archive's days, and a day's parts as one gzip file: gzip files that are joined are one. Of a part, one at a time is
// in memory.

import type { ArchiveDay, ArchiveQuery } from "../../../contract/archive.ts";
import { readPage } from "../page.ts";
import { readHistory, workOnHistory } from "../store.ts";
import { keyOf, type PartName } from "./part.ts";
import { type ArchiveStore, partBytes } from "./store.ts";

/** Newest first. */
export const listDays = (
  db: D1Database,
  tenant: string,
  { since = "", until = "~", limit, offset }: ArchiveQuery,
): Promise<{ days: readonly ArchiveDay[]; total: number }> =>
  readHistory(async () => {
    const chosen = "FROM archive_parts WHERE tenant = ?1 AND day >= ?2 AND day < ?3";
    const page = db.prepare(
      `SELECT day, SUM(jobs) AS jobs, COUNT(*) AS parts, SUM(bytes) AS bytes ${chosen}
       GROUP BY day ORDER BY day DESC LIMIT ?4 OFFSET ?5`,
    );
    const count = db.prepare(`SELECT COUNT(DISTINCT day) AS total ${chosen}`);
    const { rows, total } = await readPage<ArchiveDay>(
      db,
      page.bind(tenant, since, until, limit, offset),
      count.bind(tenant, since, until),
    );
    return { days: rows, total };
  });

/** Null if the archive has nothing of that day. That its first part is away is a refusal; a later one breaks the stream. */
export const exportDay = (
  db: D1Database,
  store: ArchiveStore,
  tenant: string,
  day: string,
): Promise<ReadableStream<Uint8Array> | null> =>
  workOnHistory(async () => {
    const { results } = await db
      .prepare("SELECT day, name FROM archive_parts WHERE tenant = ?1 AND day = ?2 ORDER BY name")
      .bind(tenant, day)
      .all<PartName>();
    const [first, ...others] = results.map((part) => keyOf(tenant, part));
    if (first === undefined) return null;
    let next: Uint8Array | null = await partBytes(store, first);
    const left = others.values();
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          if (next !== null) controller.enqueue(next);
          const key = left.next();
          next = null;
          if (key.done) controller.close();
          else next = await partBytes(store, key.value);
        },
      },
      { highWaterMark: 0 },
    );
  });
