// Webhooks and their deliveries. A delivery is written in the transaction of the change that it reports.

import type { Delivery, DeliveryEvent, DeliveryStatus, Webhook } from "../../domain/webhook.ts";
import { all, first, type Row, records, type Sql, scalar } from "./sql.ts";

export const webhooksTable = (sql: Sql) => ({
  /** Newest first. */
  all: (): Webhook[] =>
    records<Webhook>(all(sql, "SELECT record FROM webhooks")).sort((one, other) => other.createdAt - one.createdAt),

  put: (webhook: Webhook): void => {
    sql.exec("INSERT OR REPLACE INTO webhooks (id, record) VALUES (?, ?)", webhook.id, JSON.stringify(webhook));
  },

  remove: (id: string): void => {
    sql.exec("DELETE FROM webhooks WHERE id = ?", id);
    sql.exec("DELETE FROM deliveries WHERE webhook_id = ?", id);
  },
});

const COLUMNS =
  "id, webhook_id, event, at, status, attempts, response_status, error, next_attempt_at, finished_at, traceparent, body";

/** Literals, because SQLite plans a statement again whenever a pattern is bound to it. */
const SENDABLE = { all: "TRUE", killswitch: "event GLOB 'killswitch.*'" } as const;

/** Which deliveries may be sent now. */
export type Sendable = keyof typeof SENDABLE;

export const deliveriesTable = (sql: Sql) => ({
  find: (id: string): Delivery | null => {
    const row = first(sql, `SELECT ${COLUMNS} FROM deliveries WHERE id = ?`, id);
    return row === null ? null : toDelivery(row);
  },

  put: (one: Delivery): void => {
    sql.exec(
      `INSERT OR REPLACE INTO deliveries (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      one.id,
      one.webhookId,
      one.event,
      one.at,
      one.status,
      one.attempts,
      one.responseStatus,
      one.error,
      one.nextAttemptAt,
      one.finishedAt,
      one.traceparent,
      one.body,
    );
  },

  /** Newest first; of any status if none is given. */
  page: (webhookId: string, status: DeliveryStatus | null, limit: number, offset: number): Delivery[] =>
    all(
      sql,
      `SELECT ${COLUMNS} FROM deliveries WHERE webhook_id = ?1 AND (?2 IS NULL OR status = ?2)
       ORDER BY id DESC LIMIT ?3 OFFSET ?4`,
      webhookId,
      status,
      limit,
      offset,
    ).map(toDelivery),

  count: (webhookId: string, status: DeliveryStatus | null): number =>
    scalar(
      sql,
      "SELECT COUNT(*) FROM deliveries WHERE webhook_id = ?1 AND (?2 IS NULL OR status = ?2)",
      webhookId,
      status,
    ) ?? 0,

  /** The webhook's delivery that is due longest, if any. */
  firstDue: (webhookId: string, nowAt: number, sendable: Sendable): Delivery | null => {
    const row = first(
      sql,
      `SELECT ${COLUMNS} FROM deliveries WHERE webhook_id = ? AND next_attempt_at <= ? AND ${SENDABLE[sendable]}
       ORDER BY next_attempt_at LIMIT 1`,
      webhookId,
      nowAt,
    );
    return row === null ? null : toDelivery(row);
  },

  nextDueAt: (webhookId: string, sendable: Sendable): number | null =>
    scalar(
      sql,
      `SELECT MIN(next_attempt_at) FROM deliveries
       WHERE webhook_id = ? AND next_attempt_at IS NOT NULL AND ${SENDABLE[sendable]}`,
      webhookId,
    ),

  pendingCounts: (): Map<string, number> =>
    new Map(
      all(sql, "SELECT webhook_id, COUNT(*) AS count FROM deliveries WHERE status = 'pending' GROUP BY webhook_id").map(
        (row) => [row.webhook_id as string, row.count as number],
      ),
    ),

  /** Ids are in order of creation. */
  oldestPending: (webhookId: string, except: readonly string[]): Delivery | null => {
    const row = first(
      sql,
      `SELECT ${COLUMNS} FROM deliveries WHERE webhook_id = ? AND status = 'pending'
         AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT 1`,
      webhookId,
      JSON.stringify(except),
    );
    return row === null ? null : toDelivery(row);
  },

  postpone: (id: string, nextAttemptAt: number): void => {
    sql.exec("UPDATE deliveries SET next_attempt_at = ? WHERE id = ?", nextAttemptAt, id);
  },

  /** Those that wait for a webhook that is now disabled. */
  failPending: (webhookId: string, error: string, nowAt: number): void => {
    sql.exec(
      `UPDATE deliveries SET status = 'failed', error = ?, next_attempt_at = NULL, finished_at = ?
       WHERE webhook_id = ? AND status = 'pending'`,
      error,
      nowAt,
      webhookId,
    );
  },

  /** When the first finished delivery ended, and how often deliveries were written since: a write takes a new row id. */
  oldestFinished: (): { readonly at: number; readonly writesSince: number } | null => {
    const row = first(
      sql,
      `SELECT finished_at, (SELECT MAX(rowid) FROM deliveries) - rowid AS writes_since FROM deliveries
       WHERE finished_at IS NOT NULL ORDER BY finished_at LIMIT 1`,
    );
    return row === null ? null : { at: row.finished_at as number, writesSince: row.writes_since as number };
  },

  /** The first finished ones, of those that ended before `at` or after which deliveries were written so often. */
  removeFinished: (at: number, writesSince: number, limit: number): void => {
    sql.exec(
      `DELETE FROM deliveries WHERE id IN (
         SELECT id FROM deliveries WHERE finished_at IS NOT NULL
           AND (finished_at < ?1 OR rowid <= (SELECT MAX(rowid) FROM deliveries) - ?2)
         ORDER BY finished_at LIMIT ?3)`,
      at,
      writesSince,
      limit,
    );
  },
});

/** Workers whose silence was announced; each is announced once until it is back. */
export const silentWorkersTable = (sql: Sql) => ({
  all: (): Set<string> => new Set(all(sql, "SELECT instance FROM silent_workers").map((row) => row.instance as string)),

  put: (instance: string): void => {
    sql.exec("INSERT OR REPLACE INTO silent_workers (instance) VALUES (?)", instance);
  },

  remove: (instance: string): void => {
    sql.exec("DELETE FROM silent_workers WHERE instance = ?", instance);
  },
});

const toDelivery = (row: Row): Delivery => ({
  id: row.id as string,
  webhookId: row.webhook_id as string,
  event: row.event as DeliveryEvent,
  at: row.at as number,
  status: row.status as DeliveryStatus,
  attempts: row.attempts as number,
  responseStatus: row.response_status as number | null,
  error: row.error as string | null,
  nextAttemptAt: row.next_attempt_at as number | null,
  finishedAt: row.finished_at as number | null,
  traceparent: row.traceparent as string | null,
  body: row.body as string,
});
