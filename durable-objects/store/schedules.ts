// Schedules.

import type { Schedule } from "../../domain/schedule.ts";
import { all, first, record, records, type Sql, scalar } from "./sql.ts";

export const schedulesTable = (sql: Sql) => ({
  find: (name: string): Schedule | null =>
    record<Schedule>(first(sql, "SELECT record FROM schedules WHERE name = ?", name)),

  all: (): Schedule[] => records<Schedule>(all(sql, "SELECT record FROM schedules")),

  page: (limit: number, offset: number): Schedule[] =>
    records<Schedule>(
      all(
        sql,
        "SELECT record FROM schedules ORDER BY record ->> 'createdAt' DESC, name LIMIT ? OFFSET ?",
        limit,
        offset,
      ),
    ),

  count: (): number => scalar(sql, "SELECT COUNT(*) FROM schedules") ?? 0,

  put: (schedule: Schedule): void => {
    sql.exec(
      "INSERT OR REPLACE INTO schedules (name, next_run_at, record) VALUES (?, ?, ?)",
      schedule.name,
      schedule.nextRunAt,
      JSON.stringify(schedule),
    );
  },

  remove: (name: string): void => {
    sql.exec("DELETE FROM schedules WHERE name = ?", name);
  },

  due: (nowAt: number, limit: number): Schedule[] =>
    records<Schedule>(
      all(
        sql,
        "SELECT record FROM schedules WHERE next_run_at IS NOT NULL AND next_run_at <= ? ORDER BY next_run_at LIMIT ?",
        nowAt,
        limit,
      ),
    ),

  nextRunAt: (): number | null => scalar(sql, "SELECT MIN(next_run_at) FROM schedules WHERE next_run_at IS NOT NULL"),
});
