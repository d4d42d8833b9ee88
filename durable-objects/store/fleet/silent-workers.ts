// Workers whose silence was announced; each is announced once until it is back.

import { cells, put, type Sql } from "../sql.ts";

export const silentWorkersTable = (sql: Sql) => ({
  all: (): Set<string> => new Set(cells(sql, "SELECT instance FROM silent_workers")),

  put: (instance: string): void => {
    put(sql, "silent_workers", { instance });
  },

  remove: (instance: string): void => {
    sql.exec("DELETE FROM silent_workers WHERE instance = ?", instance);
  },
});
