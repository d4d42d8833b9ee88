// The audit log in history: reading it, and entries for what the edge itself changes in D1.

import { type AuditEntryResource, type AuditQuery, presentAuditEntry } from "../../contract/audit.ts";
import { fromIso, type PageRequest } from "../../contract/words/field.ts";
import { type AuditEntry, idsOf } from "../../domain/words/event.ts";
import type { Json } from "../../domain/words/json.ts";
import { readPage } from "./page.ts";
import { readHistory } from "./store.ts";
import type { TenantHistory } from "./tenant-history.ts";

interface AuditRow {
  readonly at: number;
  readonly actor_key_id: string | null;
  readonly actor_person_id: string | null;
  readonly actor_name: string;
  readonly action: string;
  readonly target: string;
  readonly detail: string;
}

/** Newest first. */
export const listAudit = (
  history: TenantHistory,
  query: AuditQuery,
): Promise<{ entries: AuditEntryResource[]; total: number }> =>
  readHistory(async () => {
    const { where, bindings } = selectionOf(query);
    const [limit, offset] = [`?${bindings.length + 2}`, `?${bindings.length + 3}`];
    const page = history.statement(
      `SELECT at, actor_key_id, actor_person_id, actor_name, action, target, detail FROM audit
       WHERE ${where} ORDER BY at DESC, id DESC LIMIT ${limit} OFFSET ${offset}`,
      ...bindings,
      query.limit,
      query.offset,
    );
    const count = history.statement(`SELECT COUNT(*) AS total FROM audit WHERE ${where}`, ...bindings);
    const { rows, total } = await readPage<AuditRow>(history, page, count);
    return { entries: rows.map(toEntry), total };
  });

/** The condition of each parameter; the position of its value is given. */
const CONDITIONS = {
  action: (at: string) => `(action = ${at} OR substr(action, 1, length(${at}) + 1) = ${at} || '.')`,
  actor: (at: string) => `(actor_key_id = ${at} OR actor_person_id = ${at} OR actor_name = ${at})`,
  target: (at: string) => `target = ${at}`,
  since: (at: string) => `at >= ${at}`,
  until: (at: string) => `at < ${at}`,
} satisfies Record<Exclude<keyof AuditQuery, keyof PageRequest>, (at: string) => string>;

const selectionOf = (query: AuditQuery): { where: string; bindings: (string | number)[] } => {
  const conditions = ["tenant = ?1"];
  const bindings: (string | number)[] = [];
  for (const [name, condition] of Object.entries(CONDITIONS)) {
    const value = query[name as keyof typeof CONDITIONS];
    if (value === undefined) continue;
    bindings.push(name === "since" || name === "until" ? fromIso(value) : value);
    conditions.push(condition(`?${bindings.length + 1}`));
  }
  return { where: conditions.join(" AND "), bindings };
};

const toEntry = (row: AuditRow): AuditEntryResource =>
  presentAuditEntry({
    at: row.at,
    actor: {
      keyId: row.actor_key_id,
      name: row.actor_name,
      ...(row.actor_person_id === null ? {} : { personId: row.actor_person_id }),
    },
    action: row.action,
    target: row.target,
    detail: JSON.parse(row.detail) as Json,
  });

/** The insert of an audit entry for a change that the edge itself makes in D1. */
export const auditStatement = (history: TenantHistory, entry: AuditEntry): D1PreparedStatement =>
  history.statement(
    `INSERT INTO audit (tenant, id, at, actor_key_id, actor_person_id, actor_name, action, target, detail)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`,
    `edge-${crypto.randomUUID()}`,
    entry.at,
    idsOf(entry.actor).keyId,
    idsOf(entry.actor).personId,
    entry.actor.name,
    entry.action,
    entry.target,
    JSON.stringify(entry.detail),
  );
