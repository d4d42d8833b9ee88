// Jobs that wait in the queue, by group: the first in order, the oldest, and how many.

import { type FlowPlace, laneOf } from "../../../domain/job/flows.ts";
import { isBefore, type Place } from "../../../domain/job/queue.ts";
import type { Journal } from "../journal.ts";
import { all, cells, first, type Sql, scalar } from "../sql.ts";

export const waitingJobs = (sql: Sql, journal: Journal) => {
  /** If the journal has all `count` jobs of the group, the table is not read. */
  const isYoung = (groupKey: string, count: number): boolean => {
    const line = journal.lines.get(groupKey);
    return line !== undefined && line.length >= count;
  };
  const oldHead = (groupKey: string): Place | null => {
    const query =
      "SELECT id, order_key AS orderKey FROM jobs WHERE group_key = ? AND order_key IS NOT NULL ORDER BY order_key, id LIMIT 1";
    return first(sql, query, groupKey);
  };
  const oldOldest = (groupKey: string): string | null => {
    const query = "SELECT MIN(id) AS id FROM jobs WHERE group_key = ? AND order_key IS NOT NULL";
    return cells<string | null>(sql, query, groupKey)[0] ?? null;
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

    /** The first waiting job of a group's lane, in which `count` wait. */
    headOfLane: (place: FlowPlace, count: number): Place | null => {
      const { groupKey } = place;
      const line = journal.lane(groupKey, laneOf(place));
      const young = line?.head ?? null;
      if (line !== undefined && line.length >= count) return young;
      const query = `SELECT id, order_key AS orderKey FROM jobs WHERE group_key = ? AND lane = ? AND order_key IS NOT NULL
        ORDER BY order_key, id LIMIT 1`;
      const old = first<Place>(sql, query, groupKey, laneOf(place));
      return old === null || (young !== null && isBefore(young, old)) ? young : old;
    },

    /** How many jobs of its lane stand before a waiting job, up to a few more than `limit`. */
    beforeInLane: (place: FlowPlace, { id, orderKey }: Place, limit: number): number => {
      const { groupKey } = place;
      const lane = laneOf(place);
      const young = journal.lane(groupKey, lane)?.before({ id, orderKey }) ?? 0;
      const query = `SELECT COUNT(*) AS count FROM (SELECT 1 FROM jobs WHERE group_key = ? AND lane = ?
        AND order_key IS NOT NULL AND (order_key, id) < (?, ?) LIMIT ?)`;
      return young + (scalar(sql, query, groupKey, lane, orderKey, id, limit) ?? 0);
    },

    /** How many jobs wait in each lane; a lane that appears twice has the sum. */
    waitingCounts: (): { groupKey: string; lane: string; count: number }[] => {
      const query = `SELECT group_key AS groupKey, lane, COUNT(*) AS count FROM jobs WHERE order_key IS NOT NULL
        GROUP BY group_key, lane`;
      const old = all<{ groupKey: string; lane: string; count: number }>(sql, query);
      const young = journal.open(({ orderKey }) => orderKey !== null);
      return [...old, ...young.map(({ job }) => ({ groupKey: job.groupKey, lane: laneOf(job), count: 1 }))];
    },
  };
};
