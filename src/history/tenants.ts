// The tenants of this service, with the jurisdiction that their objects live in.

import { desc, eq, getTableColumns, getTableName, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { getTableConfig } from "drizzle-orm/sqlite-core";
import { toIso } from "../../contract/field.ts";
import * as schema from "../../migrations/schema.ts";
import type { TenantName } from "../http/tenant.ts";
import { readHistory } from "./store.ts";

const { tenants } = schema;

export const listTenants = (db: D1Database): Promise<{ tenant: string; created_at: string }[]> =>
  readHistory(async () => {
    const rows = await drizzle(db).select().from(tenants).orderBy(desc(tenants.createdAt), tenants.tenant);
    return rows.map((row) => ({ tenant: row.tenant, created_at: toIso(row.createdAt) }));
  });

/**
 * Claims a tenant's name before its object is made, for the same name in two jurisdictions would be two objects with
 * one history. False if it stands elsewhere already.
 */
export const claimTenantName = (db: D1Database, name: TenantName, nowAt: number): Promise<boolean> =>
  readHistory(async () => {
    await drizzle(db)
      .insert(tenants)
      .values({ tenant: name.tenant, jurisdiction: name.jurisdiction, createdAt: nowAt })
      .onConflictDoNothing();
    return (await tenantNamed(db, name.tenant)).jurisdiction === name.jurisdiction;
  });

/** Where the object of a tenant that exists is to be found; null where there is none of this name. */
export const findTenant = (db: D1Database, tenant: string): Promise<TenantName | null> =>
  readHistory(async () => {
    const row = await drizzle(db)
      .select({ jurisdiction: tenants.jurisdiction })
      .from(tenants)
      .where(eq(tenants.tenant, tenant))
      .get();
    return row === undefined ? null : { tenant, jurisdiction: row.jurisdiction as TenantName["jurisdiction"] };
  });

export const createdAtOf = (db: D1Database, tenant: string): Promise<number> =>
  readHistory(async () => {
    const row = await drizzle(db)
      .select({ createdAt: tenants.createdAt })
      .from(tenants)
      .where(eq(tenants.tenant, tenant))
      .get();
    return row?.createdAt ?? Date.now();
  });

/** Every table of history that holds something of a tenant; its own row goes last, so that this can be repeated. */
const OF_TENANT = Object.values(schema)
  .filter((table) => "tenant" in getTableColumns(table))
  .sort((one, other) => Number(one === tenants) - Number(other === tenants));

export const TENANT_TABLES: readonly string[] = OF_TENANT.map((table) => getTableName(table));

/** The columns of a table's primary key: not every table has row ids. */
const keyOf = (table: (typeof OF_TENANT)[number]): string => {
  const { primaryKeys, columns } = getTableConfig(table);
  const key = primaryKeys[0]?.columns ?? columns.filter((column) => column.primary);
  return key.map((column) => column.name).join(", ");
};

export const KEYS: ReadonlyMap<string, string> = new Map(OF_TENANT.map((table) => [getTableName(table), keyOf(table)]));

const ROWS_A_DELETE = 5_000;

/** Deletes all that history holds of a tenant, in bounded steps. */
export const deleteHistory = (db: D1Database, tenant: string): Promise<void> =>
  readHistory(async () => {
    for (const table of OF_TENANT) {
      const [name, key] = [getTableName(table), keyOf(table)];
      const some = db.prepare(
        `DELETE FROM ${name} WHERE (${key}) IN (SELECT ${key} FROM ${name} WHERE tenant = ?1 LIMIT ${ROWS_A_DELETE})`,
      );
      while ((await some.bind(tenant).run()).meta.changes > 0);
    }
  });

/** Where a tenant's object is to be found. */
export const tenantNamed = async (db: D1Database, tenant: string): Promise<TenantName> => {
  const row = await drizzle(db)
    .select({ jurisdiction: tenants.jurisdiction })
    .from(tenants)
    .where(eq(tenants.tenant, tenant))
    .get();
  return { tenant, jurisdiction: (row?.jurisdiction ?? null) as TenantName["jurisdiction"] };
};

const MAX_OVERDUE = 200;

/** Tenants that should have woken by themselves before `beforeAt` and did not. */
export const overdueTenants = async (db: D1Database, beforeAt: number): Promise<TenantName[]> => {
  const rows = await drizzle(db)
    .select({ tenant: tenants.tenant, jurisdiction: tenants.jurisdiction })
    .from(tenants)
    .where(sql`${tenants.wakeAt} < ${beforeAt}`)
    .orderBy(tenants.wakeAt)
    .limit(MAX_OVERDUE);
  return rows as TenantName[];
};
