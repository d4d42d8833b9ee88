// Schedules.

import type { Schedule } from "../../domain/schedule/schedule.ts";
import { readSchedule } from "../../domain/schedule/schedule-record.ts";
import { all, first, type Row, type Sql, scalar } from "./sql.ts";

const scheduleOf = ({ record }: Row): Schedule => readSchedule(record as string);

export const schedulesTable = (sql: Sql) => ({
  find: (name: string): Schedule | null => {
    const row = first(sql, "SELECT record FROM schedules WHERE name = ?", name);
    return row === null ? null : scheduleOf(row);
  },

  all: (): Schedule[] => all(sql, "SELECT record FROM schedules").map(scheduleOf),

  page: (limit: number, offset: number): Schedule[] =>
    all(
      sql,
      "SELECT record FROM schedules ORDER BY record ->> 'createdAt' DESC, name LIMIT ? OFFSET ?",
      limit,
      offset,
    ).map(scheduleOf),

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
    all(
      sql,
      "SELECT record FROM schedules WHERE next_run_at IS NOT NULL AND next_run_at <= ? ORDER BY next_run_at LIMIT ?",
      nowAt,
      limit,
    ).map(scheduleOf),

  nextRunAt: (): number | null => scalar(sql, "SELECT MIN(next_run_at) FROM schedules WHERE next_run_at IS NOT NULL"),
});
