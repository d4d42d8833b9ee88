// The tenants of this service, with the jurisdiction of their objects.

import type { TenantList } from "../../contract/tenant.ts";
import { toIso } from "../../contract/words/field.ts";
import type { Absence } from "../../domain/tenant/absence.ts";
import {
  bindingOf,
  boundDatabases,
  type DatabaseBinding,
  databaseNumber,
  type HistoryPlace,
} from "../../domain/tenant/tenant-database.ts";
import type { Env } from "../env.ts";
import type { TenantName } from "../tenant/tenant-object.ts";
import { historyOf } from "./databases.ts";
import { ENDING, isLatest } from "./is-here.ts";
import { readHistory, workOnHistory } from "./store.ts";
import { TenantHistory } from "./tenant-history.ts";
import { TENANT_TABLES } from "./tenant-tables.ts";

interface TenantRow {
  readonly tenant: string;
  readonly jurisdiction: TenantName["jurisdiction"];
  readonly created_at: number;
  /**
   * Why its object does not serve it here (`domain/tenant/absence.ts`); null if it does. In `DB`, of a tenant whose
   * history is in another database: that database.
   */
  readonly away: Absence["state"] | DatabaseBinding | null;
  readonly history_move: number | null;
}

/** Of a row of `DB`. */
const databaseIn = ({ away }: Pick<TenantRow, "away">): number => databaseNumber(away ?? "") ?? 0;

export interface FoundTenant extends TenantName {
  readonly created_at: number;
  /** `ending`: it is being deleted. */
  readonly away: Absence["state"] | "ending" | null;
  /** The number of the database with its history. */
  readonly database: number;
}

/** Newest first; `DB` has the names of all. */
export const listTenants = (db: D1Database): Promise<TenantList["tenants"]> =>
  readHistory(async () => {
    const { results } = await db.prepare("SELECT * FROM tenants ORDER BY created_at DESC, tenant").all<TenantRow>();
    return results.map((row) => ({
      tenant: row.tenant,
      created_at: toIso(row.created_at),
      database: databaseIn(row) || undefined,
      deleting: row.history_move === ENDING || undefined,
    }));
  });

/** Tenants that are served here, those with the newest jobs first; `total` counts all of them. */
export const busyTenants = (env: Env, limit: number): Promise<{ tenants: TenantName[]; total: number }> =>
  readHistory(async () => {
    const all = await Promise.all(boundDatabases(env).map(({ database }) => busyIn(database, limit)));
    const tenants = all
      .flatMap(({ named }) => named)
      .sort((one, other) => (other.newest_at ?? 0) - (one.newest_at ?? 0));
    return { tenants: tenants.slice(0, limit), total: all.reduce((sum, { total }) => sum + total, 0) };
  });

type Busy = TenantName & { readonly newest_at: number | null };

const busyIn = async (db: D1Database, limit: number): Promise<{ named: Busy[]; total: number }> => {
  const [named, counted] = await db.batch([
    db
      .prepare(
        `SELECT tenant, jurisdiction, (SELECT max(created_at) FROM jobs WHERE tenant = t.tenant) AS newest_at
         FROM tenants AS t WHERE away IS NULL ORDER BY newest_at DESC, tenant LIMIT ?1`,
      )
      .bind(limit),
    db.prepare("SELECT count(*) AS total FROM tenants WHERE away IS NULL"),
  ]);
  const [{ total }] = (counted as D1Result<{ total: number }>).results as [{ total: number }];
  return { named: (named as D1Result<Busy>).results, total };
};

/**
 * Claims a tenant's name before its object is created: the same name in two jurisdictions would be two objects with one
 * history. Returns the number of its database, which is another than the wanted one if an interrupted try has claimed it;
 * null if the name is taken, also by a tenant that is being deleted: its history would be the new one's.
 */
export const claimTenantName = (
  { DB: db }: Env,
  name: TenantName,
  wanted: { readonly database: number; readonly isNamed: boolean },
  nowAt: number,
): Promise<number | null> =>
  workOnHistory(async () => {
    await db
      .prepare(
        "INSERT INTO tenants (tenant, jurisdiction, created_at, away) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
      )
      .bind(name.tenant, name.jurisdiction, nowAt, wanted.database === 0 ? null : bindingOf(wanted.database))
      .run();
    const row = await rowOf(db, name.tenant);
    if (row === null || row.jurisdiction !== name.jurisdiction || row.history_move === ENDING) return null;
    const database = databaseIn(row);
    return !wanted.isNamed || database === wanted.database ? database : null;
  });

const rowOf = (db: D1Database, tenant: string): Promise<TenantRow | null> =>
  db.prepare("SELECT * FROM tenants WHERE tenant = ?1").bind(tenant).first<TenantRow>();

/** An existing tenant, with the location of its object and its history; null if there is no such tenant. */
export const findTenant = (env: Env, tenant: string): Promise<FoundTenant | null> =>
  readHistory(async () => {
    const named = await rowOf(env.DB, tenant);
    if (named === null) return null;
    const database = databaseIn(named);
    // Its own database has no row of it before its first drain.
    const own = database === 0 ? named : await rowOf(historyOf(env, { tenant, database }).db, tenant);
    const { jurisdiction, created_at } = own ?? named;
    const away = named.history_move === ENDING ? "ending" : ((own?.away ?? null) as Absence["state"] | null);
    return { tenant, jurisdiction, created_at, away, database };
  });

/** The location of a tenant's object. */
export const tenantNamed = async (db: D1Database, tenant: string): Promise<TenantName> => ({
  tenant,
  jurisdiction: (await rowOf(db, tenant))?.jurisdiction ?? null,
});

const WITHOUT_NAME = Object.keys(TENANT_TABLES).filter((table) => table !== "tenants");

/** A tenant that moves here has its name before its rows, without those of an interrupted try. */
export const prepareArrival = async (
  env: Env,
  name: TenantName,
  { database, createdAt }: { database: number; createdAt: number },
): Promise<void> => {
  const own = historyOf(env, { ...name, database });
  const put = (db: D1Database, away: string) =>
    db
      .prepare(
        `INSERT INTO tenants (tenant, jurisdiction, created_at, away) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET jurisdiction = excluded.jurisdiction, created_at = excluded.created_at,
           away = excluded.away`,
      )
      .bind(name.tenant, name.jurisdiction, createdAt, away)
      .run();
  await workOnHistory(async () => {
    if (database !== 0) await put(env.DB, bindingOf(database));
    await put(own.db, "arriving");
  });
  await deleteRows(env, own, WITHOUT_NAME);
};

/**
 * Deletes a tenant: `endObject`, then everything that history has of it, in bounded steps; its name last. From the
 * beginning its name is nobody's until this is complete, and it may be repeated. Moves bring no more rows of it, and
 * retention and syncs leave it alone, as if it moved: what they store after its tables are empty would stay.
 */
export const deleteTenant = async (env: Env, tenant: string, endObject: () => Promise<void>): Promise<void> => {
  // A move between two of them may have been interrupted.
  const histories = boundDatabases(env).map(({ database }) => new TenantHistory(database, tenant));
  const mark = "UPDATE tenants SET history_move = ?2, away = COALESCE(away, 'leaving') WHERE tenant = ?1";
  for (const history of histories) await workOnHistory(() => history.statement(mark, ENDING).run());
  await endObject();
  for (const history of histories) await deleteRows(env, history, WITHOUT_NAME);
  // `DB` has the name of those in others: it is the last.
  for (const history of histories.reverse()) await deleteRows(env, history, ["tenants"]);
};

/** In every database but one, all but the tenant's name, where the condition is true in the moment of each statement. */
export const deleteElsewhere = async (env: Env, tenant: string, but: number, only: string): Promise<void> => {
  for (const { number, database } of boundDatabases(env))
    if (number !== but) await deleteRows(env, new TenantHistory(database, tenant), WITHOUT_NAME, only);
};

/**
 * The tenant's object has said that its history is there: the others have nothing of it but its name, and what earlier
 * steps of a move still do in them changes nothing.
 */
export const settleHistory = async (env: Env, tenant: string, { at, move }: HistoryPlace): Promise<void> => {
  for (const { number, database } of boundDatabases(env))
    if (number === 0 || number !== at)
      await workOnHistory(() =>
        database
          .prepare(
            `UPDATE tenants SET wake_at = iif(?2 IS NULL, wake_at, NULL), away = ?2, history_move = ?3
             WHERE tenant = ?1 AND ${isLatest(move)}`,
          )
          .bind(tenant, number === at ? null : bindingOf(at), move)
          .run(),
      );
  await deleteElsewhere(env, tenant, at, isLatest(move));
};

/** On Cloudflare a call may make 1,000 statements. */
const ROWS_A_DELETE = 5_000;
/** Self-hosted, the other tenants' reads wait for each statement: for 5,000 jobs most of a second. */
const ROWS_A_DELETE_AT_HOME = 500;

const deleteRows = ({ HOME }: Env, history: TenantHistory, tables: readonly string[], only = "true"): Promise<void> =>
  workOnHistory(async () => {
    const most = HOME === undefined ? ROWS_A_DELETE : ROWS_A_DELETE_AT_HOME;
    for (const name of tables) {
      const key = TENANT_TABLES[name as keyof typeof TENANT_TABLES];
      const some = history.statement(
        `DELETE FROM ${name} WHERE (${key}) IN (SELECT ${key} FROM ${name} WHERE tenant = ?1 AND ${only} LIMIT ${most})`,
      );
      while ((await some.run()).meta.changes > 0);
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
