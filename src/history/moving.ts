// A tenant's rows in history, for a move to another deployment. Cost sums are copied as they are, because they outlive
// the attempts that they were made from.

import { pageOf, ROWS_A_PAGE, type TablePage, type TableRows } from "../../domain/moved-rows.ts";
import { workOnHistory } from "./store.ts";
import { TENANT_TABLES } from "./tenant-tables.ts";

type Cell = string | number | null;

/** Filled by triggers, or created again at the other end. */
const STAYING: ReadonlySet<string> = new Set(["tenants", "job_labels"]);
/** Triggers fill these while attempts arrive, so they are copied last and replace the rows. */
const REPLACED = ["cost_hours", "cost_by_hours"];
/** A payload's words are indexed under its job's row, so jobs come first. */
const FIRST = ["jobs"];

export const MOVING_HISTORY: readonly string[] = [
  ...FIRST,
  ...Object.keys(TENANT_TABLES).filter((name) => !STAYING.has(name) && ![...FIRST, ...REPLACED].includes(name)),
  ...REPLACED,
];

/** Columns whose values are only valid in their own database. */
const OWN_COLUMNS: ReadonlySet<string> = new Set(["seq"]);

const known = (table: string): keyof typeof TENANT_TABLES => {
  if (!MOVING_HISTORY.includes(table)) throw new Error(`table ${table} does not move`);
  return table as keyof typeof TENANT_TABLES;
};

export const readHistoryTable = (
  db: D1Database,
  tenant: string,
  table: string,
  from: number,
  maxChars: number,
): Promise<TablePage> =>
  workOnHistory(async () => {
    const { results } = await db
      .prepare(
        `SELECT * FROM ${known(table)} WHERE tenant = ?1 ORDER BY ${TENANT_TABLES[known(table)]} LIMIT ?2 OFFSET ?3`,
      )
      .bind(tenant, ROWS_A_PAGE, from)
      .all<Record<string, Cell>>();
    return pageOf(results, from, maxChars, OWN_COLUMNS);
  });

const NAME = /^[a-z0-9_]+$/;

/** Existing rows stay, so a part that is sent twice is stored once. */
export const writeHistoryTable = (
  db: D1Database,
  tenant: string,
  table: string,
  { columns, rows }: TableRows,
  isFirst: boolean,
): Promise<void> =>
  workOnHistory(async () => {
    const at = columns.indexOf("tenant");
    if (!columns.every((column) => NAME.test(column)) || rows.some((row) => row[at] !== tenant))
      throw new Error("these rows are not of this tenant");
    const cells = columns.map((_, index) => `value ->> ${index}`).join(", ");
    const insert = `INSERT INTO ${known(table)} (${columns.join(", ")}) SELECT ${cells} FROM json_each(?1) WHERE true ON CONFLICT DO NOTHING`;
    const replaces = isFirst && REPLACED.includes(table);
    const statements = [
      ...(replaces ? [db.prepare(`DELETE FROM ${table} WHERE tenant = ?1`).bind(tenant)] : []),
      ...(rows.length === 0 ? [] : [db.prepare(insert).bind(JSON.stringify(rows))]),
    ];
    if (statements.length > 0) await db.batch(statements);
  });
