// The audit log in history: its page, and the line that the edge writes for what it changes in D1 itself.

import { type AuditEntryResource, presentAuditEntry } from "../../contract/audit.ts";
import type { PageRequest } from "../../contract/field.ts";
import type { AuditEntry } from "../../domain/event.ts";
import type { Json } from "../../domain/json.ts";
import { readHistory } from "./store.ts";

interface AuditRow {
  readonly at: number;
  readonly actor_key_id: string | null;
  readonly actor_name: string;
  readonly action: string;
  readonly target: string;
  readonly detail: string;
}

/** Newest first. */
export const listAudit = (
  db: D1Database,
  tenant: string,
  { limit, offset }: PageRequest,
): Promise<{ entries: AuditEntryResource[]; total: number }> =>
  readHistory(async () => {
    const page = db.prepare(
      `SELECT at, actor_key_id, actor_name, action, target, detail FROM audit
       WHERE tenant = ?1 ORDER BY at DESC, id DESC LIMIT ?2 OFFSET ?3`,
    );
    const count = db.prepare("SELECT COUNT(*) AS total FROM audit WHERE tenant = ?1");
    const [listed, counted] = await db.batch([page.bind(tenant, limit, offset), count.bind(tenant)]);
    const rows = (listed?.results ?? []) as unknown as AuditRow[];
    const [sum] = (counted?.results ?? []) as { total: number }[];
    return { entries: rows.map(toEntry), total: sum?.total ?? 0 };
  });

const toEntry = (row: AuditRow): AuditEntryResource =>
  presentAuditEntry({
    at: row.at,
    actor: { keyId: row.actor_key_id, name: row.actor_name },
    action: row.action,
    target: row.target,
    detail: JSON.parse(row.detail) as Json,
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
