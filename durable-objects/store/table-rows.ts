// A tenant's tables as plain rows, for a move to another deployment. Both ends have the same schema, so nothing is
// translated.

import {
  type PageRequest,
  pageOf,
  ROWS_A_PAGE,
  rowsAfter,
  type TablePage,
  type TableRows,
} from "../../domain/tenant/moved-rows.ts";
import { OWN_SETTINGS } from "./settings.ts";
import { all, cells, first, type Sql } from "./sql.ts";

/** Sessions, and grants of keys, end with the move; the steps of the schema belong to each database. */
const STAYING = new Set(["schema_steps", "sessions", "person_sessions", "key_grants"]);

const tablesOf = (sql: Sql): string[] =>
  cells(sql, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").filter(
    (name) => name !== "schema_steps" && !/^(sqlite_|_cf_|__)/.test(name),
  );

export const movingTables = (sql: Sql): string[] => tablesOf(sql).filter((name) => !STAYING.has(name));

/** Refuses an unknown table name, because the name becomes part of a statement. */
const known = (sql: Sql, table: string): string => {
  if (!movingTables(sql).includes(table)) throw new Error(`no table ${table} moves`);
  return table;
};

/** The columns of its primary key; every table has one. */
const keysOf = (sql: Sql, table: string): string[] =>
  cells(sql, "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", table);

const OWN_ROWS = `name NOT IN (${OWN_SETTINGS.map((name) => `'${name}'`).join(", ")})`;

/** At least one row if there is any, and about `maxChars` in total; null if `after` is no key of this table. */
export const readTable = (sql: Sql, { table, after, maxChars }: PageRequest): TablePage | null => {
  const keys = keysOf(sql, known(sql, table));
  const from = rowsAfter(keys, after);
  if (from === null) return null;
  const moving = table === "settings" ? OWN_ROWS : "true";
  const query = `SELECT * FROM ${table} WHERE ${moving} AND ${from.condition} ORDER BY ${keys.join(", ")} LIMIT ?`;
  return pageOf(all(sql, query, ...from.values, ROWS_A_PAGE), { keys, maxChars });
};

const NAME = /^[a-z_]+$/;

export const writeTable = (sql: Sql, table: string, { columns, rows }: TableRows): void => {
  if (!columns.every((column) => NAME.test(column))) throw new Error("a column has an unknown name");
  const places = columns.map(() => "?").join(", ");
  const statement = `INSERT OR REPLACE INTO ${known(sql, table)} (${columns.join(", ")}) VALUES (${places})`;
  for (const row of rows) sql.exec(statement, ...row);
};

/** Removes what an earlier try of a move has brought. */
export const clearTables = (sql: Sql): void => {
  for (const table of tablesOf(sql)) sql.exec(`DELETE FROM ${table}`);
};

export const isEmpty = (sql: Sql): boolean => first(sql, "SELECT 1 FROM keys LIMIT 1") === null;
