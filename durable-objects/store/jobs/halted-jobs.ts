// The jobs that the killswitch put back into the queue, and that level 4 of the same activation cancels.

import { cells, type Sql } from "../sql.ts";

export const haltedJobsTable = (sql: Sql) => ({
  add: (ids: readonly string[]): void => {
    sql.exec("INSERT OR IGNORE INTO halted_jobs (job_id) SELECT value FROM json_each(?)", JSON.stringify(ids));
  },

  all: (): string[] => cells(sql, "SELECT job_id FROM halted_jobs"),

  clear: (): void => {
    sql.exec("DELETE FROM halted_jobs");
  },
});
