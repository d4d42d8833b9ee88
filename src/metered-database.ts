// A D1 database that counts its queries like the platform: each statement of a batch is a query.

import type { Allowance } from "../domain/words/allowance.ts";

export function meteredDatabase(db: D1Database, allowance: Allowance): D1Database {
  const plain = new WeakMap<D1PreparedStatement, D1PreparedStatement>();
  const metered = (statement: D1PreparedStatement): D1PreparedStatement => {
    const counted =
      (method: "first" | "run" | "all" | "raw") =>
      (...values: unknown[]): unknown => {
        allowance.spendQueries(1);
        return (statement[method] as (...values: unknown[]) => unknown)(...values);
      };
    const methods = { first: counted("first"), run: counted("run"), all: counted("all"), raw: counted("raw") };
    const one = { ...methods, bind: (...values: unknown[]) => metered(statement.bind(...values)) };
    plain.set(one as D1PreparedStatement, statement);
    return one as D1PreparedStatement;
  };
  const database: Pick<D1Database, "prepare" | "batch"> = {
    prepare: (sql) => metered(db.prepare(sql)),
    batch: (statements) => {
      allowance.spendQueries(statements.length);
      return db.batch(statements.map((one) => plain.get(one) ?? one));
    },
  };
  return database as D1Database;
}
