// The audit log, schedules' runs, and the tenants there are.

import { and, count, desc, eq, gte, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { toIso } from "../../contract/field.ts";
import { type AuditEntryResource, presentAuditEntry } from "../../contract/key.ts";
import type { ScheduleRunResource } from "../../contract/schedule.ts";
import type { AuditEntry } from "../../domain/event.ts";
import type { Job } from "../../domain/job.ts";
import type { Json } from "../../domain/json.ts";
import { audit, jobs, scheduleRuns, tenants } from "../../migrations/schema.ts";
import type { TenantName } from "../http/tenant.ts";
import { readHistory } from "./store.ts";

interface Page {
  readonly limit: number;
  readonly offset: number;
}

export const listAudit = (
  db: D1Database,
  tenant: string,
  page: Page,
): Promise<{ entries: AuditEntryResource[]; total: number }> =>
  readHistory(async () => {
    const history = drizzle(db);
    const [rows, [counted]] = await history.batch([
      history
        .select()
        .from(audit)
        .where(eq(audit.tenant, tenant))
        .orderBy(desc(audit.at), desc(audit.id))
        .limit(page.limit)
        .offset(page.offset),
      history.select({ total: count() }).from(audit).where(eq(audit.tenant, tenant)),
    ]);
    const entries = rows.map((row) =>
      presentAuditEntry({
        at: row.at,
        actor: { keyId: row.actorKeyId, name: row.actorName },
        action: row.action,
        target: row.target,
        detail: JSON.parse(row.detail) as Json,
      }),
    );
    return { entries, total: counted?.total ?? 0 };
  });

/** The insert of an audit line for what the edge itself changes in D1. */
export const auditStatement = (db: D1Database, tenant: string, entry: AuditEntry): D1PreparedStatement =>
  db
    .prepare(
      `INSERT INTO audit (tenant, id, at, actor_key_id, actor_name, action, target, detail)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`,
    )
    .bind(
      tenant,
      `edge-${crypto.randomUUID()}`,
      entry.at,
      entry.actor.keyId,
      entry.actor.name,
      entry.action,
      entry.target,
      JSON.stringify(entry.detail),
    );

export const listRuns = (
  db: D1Database,
  tenant: string,
  of: { readonly schedule: string; readonly sinceAt: number },
  page: Page,
): Promise<{ history: ScheduleRunResource[]; total: number }> =>
  readHistory(async () => {
    const history = drizzle(db);
    const isOfSchedule = and(
      eq(scheduleRuns.tenant, tenant),
      eq(scheduleRuns.schedule, of.schedule),
      gte(scheduleRuns.ranAt, of.sinceAt),
    );
    const [rows, [counted]] = await history.batch([
      history
        .select({ run: scheduleRuns, status: jobs.status })
        .from(scheduleRuns)
        .leftJoin(jobs, and(eq(jobs.tenant, scheduleRuns.tenant), eq(jobs.id, scheduleRuns.jobId)))
        .where(isOfSchedule)
        .orderBy(desc(scheduleRuns.ranAt), desc(scheduleRuns.id))
        .limit(page.limit)
        .offset(page.offset),
      history.select({ total: count() }).from(scheduleRuns).where(isOfSchedule),
    ]);
    const runs = rows.map(({ run, status }) => ({
      scheduled_for: toIso(run.scheduledFor),
      ran_at: toIso(run.ranAt),
      outcome: run.outcome as ScheduleRunResource["outcome"],
      reason: run.reason,
      job_id: run.jobId,
      job_status: status as Job["status"] | null,
      missed: run.missed,
    }));
    return { history: runs, total: counted?.total ?? 0 };
  });

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
