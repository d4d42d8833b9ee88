// Workers without work, since when, and whether webhooks were told. Only while a webhook selects the event.

import { all, put, type Sql } from "../sql.ts";

export interface Idleness {
  readonly sinceAt: number;
  /** Each time is told once. */
  readonly isTold: boolean;
}

export const idleWorkersTable = (sql: Sql) => ({
  all: (): Map<string, Idleness> =>
    new Map(
      all<{ instance: string; sinceAt: number; isTold: number }>(
        sql,
        "SELECT instance, since_at AS sinceAt, is_told AS isTold FROM idle_workers",
      ).map(({ instance, sinceAt, isTold }) => [instance, { sinceAt, isTold: isTold === 1 }]),
    ),

  put: (instance: string, { sinceAt, isTold }: Idleness): void => {
    put(sql, "idle_workers", { instance, since_at: sinceAt, is_told: Number(isTold) });
  },

  remove: (instance: string): void => {
    sql.exec("DELETE FROM idle_workers WHERE instance = ?", instance);
  },
});
