// The audit log in history: its page, and the line that the edge writes for what it changes in D1 itself.

import { count, desc, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { type AuditEntryResource, presentAuditEntry } from "../../contract/audit.ts";
import type { PageRequest } from "../../contract/field.ts";
import type { AuditEntry } from "../../domain/event.ts";
import type { Json } from "../../domain/json.ts";
import { audit } from "../../migrations/schema.ts";
import { readHistory } from "./store.ts";

export const listAudit = (
  db: D1Database,
  tenant: string,
  page: PageRequest,
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
