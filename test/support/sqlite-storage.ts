// The object's storage without the platform.

import type { DatabaseSync } from "node:sqlite";
import type { Row, SqlValue, TenantStorage } from "../../durable-objects/store/sql.ts";

/** The object's port to SQLite over a plain database. */
export const storageOver = (db: DatabaseSync): TenantStorage => ({
  sql: {
    exec: (query: string, ...bindings: SqlValue[]) => {
      const rows = db.prepare(query).all(...bindings) as Row[];
      return { toArray: () => rows };
    },
    databaseSize: 0,
  },
  transactionSync: (work) => {
    db.exec("BEGIN");
    try {
      const done = work();
      db.exec("COMMIT");
      return done as never;
    } catch (error) {
      db.exec("ROLLBACK");
      throw error;
    }
  },
});
