// Jobs that wait in the queue, by group: the first in order, the oldest, and how many.

import { isBefore, type Place } from "../../domain/job/queue.ts";
import type { Journal } from "./journal.ts";
import { all, first, type Sql } from "./sql.ts";

export const waitingJobs = (sql: Sql, journal: Journal) => {
  /** If the journal has all `count` jobs of the group, the table is not read. */
  const isYoung = (groupKey: string, count: number): boolean => {
    const line = journal.lines.get(groupKey);
    return line !== undefined && line.length >= count;
  };
  const oldHead = (groupKey: string): Place | null => {
    const query =
      "SELECT id, order_key FROM jobs WHERE group_key = ? AND order_key IS NOT NULL ORDER BY order_key, id LIMIT 1";
    const row = first(sql, query, groupKey);
    return row === null ? null : { id: row.id as string, orderKey: row.order_key as number };
  };
  const oldOldest = (groupKey: string): string | null => {
    const query = "SELECT MIN(id) AS id FROM jobs WHERE group_key = ? AND order_key IS NOT NULL";
    return (first(sql, query, groupKey)?.id ?? null) as string | null;
  };
  return {
    /** The first waiting job of a group, `count` of which wait. */
    headOf: (groupKey: string, count = Number.POSITIVE_INFINITY): Place | null => {
      const young = journal.lines.get(groupKey)?.head ?? null;
      const old = isYoung(groupKey, count) ? null : oldHead(groupKey);
      return old === null || (young !== null && isBefore(young, old)) ? young : old;
    },

    /** The id of the one created first. */
    oldestOf: (groupKey: string, count = Number.POSITIVE_INFINITY): string | null => {
      const young = journal.lines.get(groupKey)?.oldest ?? null;
      const old = isYoung(groupKey, count) ? null : oldOldest(groupKey);
      return old === null || (young !== null && young < old) ? young : old;
    },

    /** How many jobs wait in each group; a group that appears twice has the sum. */
    waitingCounts: (): { groupKey: string; count: number }[] => [
      ...all(sql, "SELECT group_key, COUNT(*) AS count FROM jobs WHERE order_key IS NOT NULL GROUP BY group_key").map(
        (row) => ({ groupKey: row.group_key as string, count: row.count as number }),
      ),
      ...[...journal.lines].map(([groupKey, { length: count }]) => ({ groupKey, count })),
    ],
  };
};
