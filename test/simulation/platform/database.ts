// SQLite in memory, with the statements prepared on it. What a run writes is undone at its end, so that a later run
// begins with the tables and statements that are there: they take longer than most runs.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Row, SqlValue } from "../../../durable-objects/store/sql.ts";

export type { Row, SqlValue };

/** A prepared statement, and what makes a row of the values that it returns. */
interface Prepared {
  readonly statement: StatementSync;
  readonly toRow: (values: readonly SqlValue[]) => Row;
}

/** Objects of one shape: those that SQLite's binding makes name their columns row by row. */
const rowMaker = (columns: readonly string[]): Prepared["toRow"] => {
  const entries = columns.map((column, index) => `${JSON.stringify(column)}: values[${index}]`);
  return new Function("values", `return { ${entries.join(", ")} }`) as Prepared["toRow"];
};

export class Database {
  readonly #db = new DatabaseSync(":memory:");
  readonly #prepared = new Map<string, Prepared>();

  rows(query: string, ...bindings: readonly SqlValue[]): Row[] {
    const { statement, toRow } = this.#prepared.get(query) ?? this.#prepare(query);
    const found = statement.all(...bindings) as unknown as SqlValue[][];
    for (let at = 0; at < found.length; at += 1) found[at] = toRow(found[at] as SqlValue[]) as never;
    return found as unknown as Row[];
  }

  #prepare(query: string): Prepared {
    const statement = this.#db.prepare(query);
    statement.setReturnArrays(true);
    const prepared = { statement, toRow: rowMaker(statement.columns().map(({ name }) => name)) };
    this.#prepared.set(query, prepared);
    return prepared;
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
