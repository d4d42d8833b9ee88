// Jobs that wait in the queue, by group.

import { isBefore, type Place } from "../../domain/queue.ts";
import type { Journal } from "./journal.ts";
import { all, first, type Sql } from "./sql.ts";

export const waitingJobs = (sql: Sql, journal: Journal) => ({
  /** The first waiting job of a group. `count` of them wait: if the journal has them all, the table is not read. */
  headOf: (groupKey: string, count = Number.POSITIVE_INFINITY): Place | null => {
    const line = journal.lines.get(groupKey);
    const young = line?.head ?? null;
    if (line !== undefined && line.length >= count) return young;
    const row = first(
      sql,
      "SELECT id, order_key FROM jobs WHERE group_key = ? AND order_key IS NOT NULL ORDER BY order_key, id LIMIT 1",
      groupKey,
    );
    if (row === null) return young;
    const old = { id: row.id as string, orderKey: row.order_key as number };
    return young !== null && isBefore(young, old) ? young : old;
  },

  /** How many jobs wait in each group; a group that appears twice has the sum. */
  waitingCounts: (): { groupKey: string; count: number }[] => [
    ...all(sql, "SELECT group_key, COUNT(*) AS count FROM jobs WHERE order_key IS NOT NULL GROUP BY group_key").map(
      (row) => ({ groupKey: row.group_key as string, count: row.count as number }),
    ),
    ...[...journal.lines].map(([groupKey, { length: count }]) => ({ groupKey, count })),
  ],
});
