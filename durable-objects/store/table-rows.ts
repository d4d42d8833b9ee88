// A tenant's tables as plain rows, for a move to another deployment. Both ends have the same schema, so nothing is
// translated.

import { pageOf, ROWS_A_PAGE, type TablePage, type TableRows } from "../../domain/moved-rows.ts";
import { all, first, type Sql } from "./sql.ts";

/** Sessions end with the move; the steps of the schema belong to each database. */
const STAYING = new Set(["schema_steps", "sessions"]);

export const movingTables = (sql: Sql): string[] =>
  all(sql, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    .map((row) => row.name as string)
    .filter((name) => !STAYING.has(name) && !/^(sqlite_|_cf_|__)/.test(name));

/** Refuses an unknown table name, because the name becomes part of a statement. */
const known = (sql: Sql, table: string): string => {
  if (!movingTables(sql).includes(table)) throw new Error(`no table ${table} moves`);
  return table;
};

/** At least one row if there is any, and about `maxChars` in total. The tables do not change meanwhile. */
export const readTable = (sql: Sql, table: string, from: number, maxChars: number): TablePage => {
  const found = all(sql, `SELECT * FROM ${known(sql, table)} LIMIT ? OFFSET ?`, ROWS_A_PAGE, from);
  return pageOf(found, from, maxChars);
};

const NAME = /^[a-z_]+$/;

export const writeTable = (sql: Sql, table: string, { columns, rows }: TableRows): void => {
  if (!columns.every((column) => NAME.test(column))) throw new Error("a column has an unknown name");
  const places = columns.map(() => "?").join(", ");
  const statement = `INSERT OR REPLACE INTO ${known(sql, table)} (${columns.join(", ")}) VALUES (${places})`;
  for (const row of rows) sql.exec(statement, ...row);
};

export const isEmpty = (sql: Sql): boolean => first(sql, "SELECT 1 FROM keys LIMIT 1") === null;
