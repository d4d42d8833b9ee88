// SQLite in memory, with the statements prepared on it. What a run writes is undone at its end, so that a later run
// begins with the tables and statements that are there: they take longer than most runs.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Row, SqlValue } from "../../durable-objects/store/sql.ts";

export type { Row, SqlValue };

export class Database {
  readonly #db = new DatabaseSync(":memory:");
  readonly #statements = new Map<string, StatementSync>();

  rows(query: string, ...bindings: readonly SqlValue[]): Row[] {
    let statement = this.#statements.get(query);
    if (statement === undefined) {
      statement = this.#db.prepare(query);
      this.#statements.set(query, statement);
    }
    return statement.all(...bindings) as Row[];
  }

  exec(statements: string): void {
    this.#db.exec(statements);
  }

  /** Calls `heard` after each change of a row in these tables, with its key. */
  follow(keys: Readonly<Record<string, string>>, heard: (table: string, key: SqlValue) => void): void {
    this.#db.function("note", (table, key) => {
      heard(table as string, key as SqlValue);
      return null;
    });
    for (const [table, key] of Object.entries(keys))
      for (const [event, row] of [
        ["INSERT", "NEW"],
        ["UPDATE", "NEW"],
        ["DELETE", "OLD"],
      ])
        this.exec(
          `CREATE TEMP TRIGGER ${table}_${event} AFTER ${event} ON main.${table}
           BEGIN SELECT note('${table}', ${row}.${key}); END`,
        );
  }

  beginRun(): void {
    this.rows("BEGIN");
  }

  endRun(): void {
    this.rows("ROLLBACK");
  }
}
