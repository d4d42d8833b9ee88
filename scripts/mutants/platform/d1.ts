// D1 on node:sqlite: what the service and its tests use of the binding.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { Database, type Row, type SqlValue } from "../../../test/simulation/database.ts";
import { ROOT } from "../../run-command.ts";

const MIGRATIONS = path.join(ROOT, "migrations");

const SCHEMA = readdirSync(MIGRATIONS)
  .filter((name) => name.endsWith(".sql"))
  .sort()
  .map((name) => readFileSync(path.join(MIGRATIONS, name), "utf8"))
  .join("\n");

class Statement {
  readonly #d1: D1;
  readonly sql: string;
  readonly values: readonly SqlValue[];

  constructor(d1: D1, sql: string, values: readonly SqlValue[] = []) {
    this.#d1 = d1;
    this.sql = sql;
    this.values = values;
  }

  bind(...values: SqlValue[]): Statement {
    return new Statement(this.#d1, this.sql, values);
  }

  all = async () => this.#d1.run(this);
  run = this.all;

  async first(column?: string): Promise<unknown> {
    const [row] = this.#d1.run(this).results;
    if (row === undefined) return null;
    return column === undefined ? row : row[column];
  }
}

export class D1 {
  readonly #db = new Database();

  constructor() {
    this.#db.exec(SCHEMA);
  }

  prepare(sql: string): Statement {
    return new Statement(this, sql);
  }

  async batch(statements: readonly Statement[]): Promise<unknown[]> {
    this.#db.rows("SAVEPOINT batch");
    try {
      return statements.map((statement) => this.run(statement));
    } catch (error) {
      this.#db.rows("ROLLBACK TO batch");
      throw error;
    } finally {
      this.#db.rows("RELEASE batch");
    }
  }

  run({ sql, values }: Statement): { success: true; results: Row[]; meta: { changes: number } } {
    const results = this.#db.rows(sql, ...values);
    return {
      success: true,
      results,
      meta: { changes: this.#db.rows("SELECT changes() AS count")[0]?.count as number },
    };
  }
}
