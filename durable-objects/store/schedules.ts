// Schedules.

import type { Schedule } from "../../domain/schedule/schedule.ts";
import { RecordSums } from "./record-sums.ts";
import { cells, put, record, records, type Sql, scalar } from "./sql.ts";

/** More than is shown of a prompt. */
const SHOWN_CHARS = 400;

/** A copy: a part of a text would keep all of it in memory. */
const shortened = (schedule: Schedule): Schedule =>
  JSON.parse(JSON.stringify({ ...schedule, prompt: schedule.prompt.slice(0, SHOWN_CHARS), input: null }));

const newestFirst = (one: Schedule, other: Schedule): number =>
  other.createdAt - one.createdAt || (one.name < other.name ? -1 : 1);

export const schedulesTable = (sql: Sql) => {
  /**
   * Of all schedules, by name: viewers are told of each change, and to read all prompts takes long. Null until asked
   * for.
   */
  let shown: Map<string, Schedule> | null = null;
  const sums = new RecordSums(sql, "schedules", "name");
  const readShown = (): Map<string, Schedule> => {
    const shownOf = (text: string): [string, Schedule] => {
      const schedule = shortened(JSON.parse(text));
      return [schedule.name, schedule];
    };
    return new Map(cells(sql, "SELECT record FROM schedules").map(shownOf));
  };
  return {
    forgetRecent: (): void => {
      shown = null;
      sums.forget();
    },

    /** The newest, with the beginnings of their prompts, and without input. */
    newestShown: (limit: number): Schedule[] => {
      shown ??= readShown();
      return [...shown.values()].sort(newestFirst).slice(0, limit);
    },

    find: (name: string): Schedule | null => record(sql, "SELECT record FROM schedules WHERE name = ?", name),

    all: (): Schedule[] => records(sql, "SELECT record FROM schedules"),

    newestNames: (limit: number, offset: number): string[] =>
      cells(
        sql,
        "SELECT name FROM schedules ORDER BY record ->> 'createdAt' DESC, name LIMIT ? OFFSET ?",
        limit,
        offset,
      ),

    /** Whether another fits. */
    hasRoom: (limit: number, limitChars: number): boolean => sums.areBelow(limit, limitChars),

    count: (): number => scalar(sql, "SELECT COUNT(*) FROM schedules") ?? 0,

    put: (schedule: Schedule): void => {
      shown?.set(schedule.name, shortened(schedule));
      const { name, nextRunAt } = schedule;
      sums.change(name, () =>
        put(sql, "schedules", { name, next_run_at: nextRunAt, record: JSON.stringify(schedule) }),
      );
    },

    remove: (name: string): void => {
      shown?.delete(name);
      sums.change(name, () => sql.exec("DELETE FROM schedules WHERE name = ?", name));
    },

    /** The one that is due for longest, with the length of its record. */
    firstDue: (nowAt: number): { schedule: Schedule; chars: number } | null => {
      const query = "SELECT record FROM schedules WHERE next_run_at <= ? ORDER BY next_run_at LIMIT 1";
      const [text] = cells(sql, query, nowAt);
      return text === undefined ? null : { schedule: JSON.parse(text), chars: text.length };
    },

    nextRunAt: (): number | null => scalar(sql, "SELECT MIN(next_run_at) FROM schedules WHERE next_run_at IS NOT NULL"),
  };
};
