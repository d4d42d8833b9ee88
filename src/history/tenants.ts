// The tenants of this service, with the jurisdiction of their objects.

import { toIso } from "../../contract/words/field.ts";
import type { Absence } from "../../domain/tenant/absence.ts";
import type { TenantName } from "../tenant/tenant-object.ts";
import { readHistory, workOnHistory } from "./store.ts";
import { TENANT_TABLES } from "./tenant-tables.ts";

interface TenantRow {
  readonly tenant: string;
  readonly jurisdiction: TenantName["jurisdiction"];
  readonly created_at: number;
  /** Why its object does not serve it here (`domain/tenant/absence.ts`); null if it does. */
  readonly away: Absence["state"] | null;
}

export type FoundTenant = TenantName & Pick<TenantRow, "away" | "created_at">;

/** Newest first. */
export const listTenants = (db: D1Database): Promise<{ tenant: string; created_at: string }[]> =>
  readHistory(async () => {
    const { results } = await db
      .prepare("SELECT tenant, created_at FROM tenants ORDER BY created_at DESC, tenant")
      .all<Pick<TenantRow, "tenant" | "created_at">>();
    return results.map((row) => ({ tenant: row.tenant, created_at: toIso(row.created_at) }));
  });

/** Tenants that are served here, those with the newest jobs first; `total` counts all of them. */
export const busyTenants = (db: D1Database, limit: number): Promise<{ tenants: TenantName[]; total: number }> =>
  readHistory(async () => {
    const [named, counted] = await db.batch([
      db
        .prepare(
          `SELECT tenant, jurisdiction FROM tenants AS t WHERE away IS NULL
           ORDER BY (SELECT max(created_at) FROM jobs WHERE tenant = t.tenant) DESC, tenant LIMIT ?1`,
        )
        .bind(limit),
      db.prepare("SELECT count(*) AS total FROM tenants WHERE away IS NULL"),
    ]);
    const [{ total }] = (counted as D1Result<{ total: number }>).results as [{ total: number }];
    return { tenants: (named as D1Result<TenantName>).results, total };
  });

/**
 * Claims a tenant's name before its object is created: the same name in two jurisdictions would be two objects with one
 * history. False if it is taken.
 */
export const claimTenantName = (db: D1Database, name: TenantName, nowAt: number): Promise<boolean> =>
  workOnHistory(async () => {
    await db
      .prepare("INSERT INTO tenants (tenant, jurisdiction, created_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
      .bind(name.tenant, name.jurisdiction, nowAt)
      .run();
    return (await tenantNamed(db, name.tenant)).jurisdiction === name.jurisdiction;
  });

const rowOf = (db: D1Database, tenant: string): Promise<TenantRow | null> =>
  db
    .prepare("SELECT tenant, jurisdiction, created_at, away FROM tenants WHERE tenant = ?1")
    .bind(tenant)
    .first<TenantRow>();

/** An existing tenant, with the location of its object; null if there is no such tenant. */
export const findTenant = (db: D1Database, tenant: string): Promise<FoundTenant | null> =>
  readHistory(() => rowOf(db, tenant));

/** The location of a tenant's object. */
export const tenantNamed = async (db: D1Database, tenant: string): Promise<TenantName> => ({
  tenant,
  jurisdiction: (await rowOf(db, tenant))?.jurisdiction ?? null,
});

/** A tenant that moves here has its name before its rows, without those of an interrupted try. */
export const prepareArrival = async (db: D1Database, name: TenantName, createdAt: number): Promise<void> => {
  await workOnHistory(() =>
    db
      .prepare(
        `INSERT INTO tenants (tenant, jurisdiction, created_at, away) VALUES (?1, ?2, ?3, 'arriving')
         ON CONFLICT DO UPDATE SET jurisdiction = excluded.jurisdiction, created_at = excluded.created_at,
           away = excluded.away`,
      )
      .bind(name.tenant, name.jurisdiction, createdAt)
      .run(),
  );
  await deleteRows(
    db,
    name.tenant,
    Object.keys(TENANT_TABLES).filter((table) => table !== "tenants"),
  );
};

/** Deletes everything that history has of a tenant, in bounded steps. */
export const deleteHistory = (db: D1Database, tenant: string): Promise<void> =>
  deleteRows(db, tenant, Object.keys(TENANT_TABLES));

const ROWS_A_DELETE = 5_000;

const deleteRows = (db: D1Database, tenant: string, tables: readonly string[]): Promise<void> =>
  workOnHistory(async () => {
    for (const name of tables) {
      const key = TENANT_TABLES[name as keyof typeof TENANT_TABLES];
      const some = db.prepare(
        `DELETE FROM ${name} WHERE (${key}) IN (SELECT ${key} FROM ${name} WHERE tenant = ?1 LIMIT ${ROWS_A_DELETE})`,
      );
      while ((await some.bind(tenant).run()).meta.changes > 0);
    }
  });

/** How many are woken per minute. */
export const MAX_OVERDUE = 200;

/** Tenants whose alarm was due before `beforeAt` and did not fire. */
export const overdueTenants = async (db: D1Database, beforeAt: number): Promise<TenantName[]> => {
  const { results } = await db
    .prepare("SELECT tenant, jurisdiction FROM tenants WHERE wake_at < ?1 ORDER BY wake_at LIMIT ?2")
    .bind(beforeAt, MAX_OVERDUE)
    .all<TenantName>();
  return results;
};
