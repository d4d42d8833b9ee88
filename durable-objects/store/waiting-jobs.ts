// Jobs that wait in the queue, group by group.

import type { Place } from "../../domain/queue.ts";
import { all, first, type Sql, scalar } from "./sql.ts";

export const waitingJobs = (sql: Sql) => ({
  /** The first waiting job of a group. */
  headOf: (groupKey: string): Place | null => {
    const row = first(
      sql,
      "SELECT id, order_key FROM jobs WHERE group_key = ? AND order_key IS NOT NULL ORDER BY order_key, id LIMIT 1",
      groupKey,
    );
    return row === null ? null : { id: row.id as string, orderKey: row.order_key as number };
  },

  oldestCreatedAt: (groupKey: string): number | null =>
    scalar(
      sql,
      `SELECT record ->> 'createdAt' FROM jobs WHERE group_key = ? AND order_key IS NOT NULL ORDER BY order_key, id LIMIT 1`,
      groupKey,
    ),

  /** How many jobs wait in each group. */
  waitingCounts: (): { groupKey: string; count: number }[] =>
    all(sql, "SELECT group_key, COUNT(*) AS count FROM jobs WHERE order_key IS NOT NULL GROUP BY group_key").map(
      (row) => ({ groupKey: row.group_key as string, count: row.count as number }),
    ),
});
