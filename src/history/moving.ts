// A tenant's rows in history, for a move to another deployment. Cost sums are copied as they are, because they outlive
// the attempts that they were made from.

import {
  type Cell,
  type PageRequest,
  pageOf,
  ROWS_A_PAGE,
  rowsAfter,
  type TablePage,
  type TableRows,
} from "../../domain/tenant/moved-rows.ts";
import { isHere } from "./is-here.ts";
import { packedOf, plainOf, unpack } from "./packed-text.ts";
import { workOnHistory } from "./store.ts";
import type { TenantHistory } from "./tenant-history.ts";
import { TENANT_TABLES } from "./tenant-tables.ts";

/** Created again at the other end. */
const STAYING: ReadonlySet<string> = new Set(["tenants"]);
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

/** Unique within a tenant, and the same at both ends. */
const keysOf = (table: keyof typeof TENANT_TABLES): string[] =>
  (table === "jobs" ? "tenant, id" : TENANT_TABLES[table]).split(", ").filter((column) => column !== "tenant");

/** Texts that may be packed: they move as they were, and are packed again at the other end. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  jobs: ["prompt"],
  payloads: ["prompt", "input"],
  results: ["result"],
};
const PACKED = "packed_";

const columnsOf = (table: string): string => {
  const texts = TEXTS[table];
  if (texts === undefined) return "*";
  const packed = (name: string): string => `${packedOf(name)} AS ${PACKED}${name}`;
  if (table === "jobs") return ["*", ...texts.map(packed)].join(", ");
  return ["tenant", "job_id", ...texts.map((name) => `${plainOf(name)} AS ${name}, ${packed(name)}`)].join(", ");
};

const unpackRow = async (row: Record<string, Cell>, texts: readonly string[]): Promise<void> => {
  for (const name of texts) {
    const packed = row[`${PACKED}${name}`];
    if (typeof packed === "string") row[name] = await unpack(packed);
    delete row[`${PACKED}${name}`];
  }
};

/** Null if `after` is no key of this table. */
export const readHistoryTable = (
  history: TenantHistory,
  { table, after, maxChars }: PageRequest,
): Promise<TablePage | null> =>
  workOnHistory(async () => {
    const keys = keysOf(known(table));
    const from = rowsAfter(keys, after);
    if (from === null) return null;
    const order = keys.join(", ");
    const { results } = await history
      .statement(
        `SELECT ${columnsOf(table)} FROM ${table} WHERE tenant = ? AND ${from.condition} ORDER BY ${order} LIMIT ?`,
        ...from.values,
        ROWS_A_PAGE,
      )
      .all<Record<string, Cell>>();
    for (const row of results) await unpackRow(row, TEXTS[table] ?? []);
    // `seq` of changes to a model list counts within its subscription: it is part of the key.
    return pageOf(results, { keys, maxChars, own: table === "jobs" ? OWN_COLUMNS : new Set() });
  });

const NAME = /^[a-z0-9_]+$/;

/**
 * Existing rows stay, so a part that is sent twice is stored once. One that comes when the tenant is served from here
 * already, late, changes nothing, nor does one for which the condition `only` is not true.
 */
export const writeHistoryTable = (
  history: TenantHistory,
  table: string,
  { columns, rows }: TableRows,
  isFirst: boolean,
  only = "",
): Promise<void> =>
  workOnHistory(async () => {
    const at = columns.indexOf("tenant");
    if (!columns.every((column) => NAME.test(column)) || rows.some((row) => row[at] !== history.tenant))
      throw new Error("these rows are not of this tenant");
    const cells = columns.map((_, index) => `value ->> ${index}`).join(", ");
    const isAway = `NOT ${isHere("?1")}${only}`;
    const insert = `INSERT INTO ${known(table)} (${columns.join(", ")}) SELECT ${cells} FROM json_each(?2) WHERE ${isAway} ON CONFLICT DO NOTHING`;
    const replaces = isFirst && REPLACED.includes(table);
    const statements = [
      ...(replaces ? [history.statement(`DELETE FROM ${table} WHERE tenant = ?1 AND ${isAway}`)] : []),
      ...(rows.length === 0 ? [] : [history.statement(insert, JSON.stringify(rows))]),
    ];
    if (statements.length > 0) await history.db.batch(statements);
  });
