// Registered workers, and the back-offs of their providers.

import type { Worker } from "../../domain/worker.ts";
import { readWorker } from "../../domain/worker-record.ts";
import { all, type Sql, scalar } from "./sql.ts";

export const workersTable = (sql: Sql) => ({
  all: (): Worker[] => all(sql, "SELECT record FROM workers").map(({ record }) => readWorker(record as string)),

  put: (worker: Worker): void => {
    sql.exec(
      "INSERT OR REPLACE INTO workers (instance, record) VALUES (?, ?)",
      worker.instance,
      JSON.stringify(worker),
    );
  },

  remove: (instance: string): void => {
    sql.exec("DELETE FROM workers WHERE instance = ?", instance);
  },
});

export const backoffsTable = (sql: Sql) => ({
  all: (): { provider: string; untilAt: number }[] =>
    all(sql, "SELECT provider, until_at FROM backoffs").map((row) => ({
      provider: row.provider as string,
      untilAt: row.until_at as number,
    })),

  put: (provider: string, untilAt: number): void => {
    sql.exec("INSERT OR REPLACE INTO backoffs (provider, until_at) VALUES (?, ?)", provider, untilAt);
  },

  removeEnded: (nowAt: number): void => {
    sql.exec("DELETE FROM backoffs WHERE until_at <= ?", nowAt);
  },

  nextEndAt: (): number | null => scalar(sql, "SELECT MIN(until_at) FROM backoffs"),
});
