// Webhooks' deliveries. Each is written in the transaction of the change that it reports.

import type { Delivery, DeliveryStatus } from "../../domain/webhook.ts";
import { DELIVERY_COLUMNS, toDelivery } from "./delivery-row.ts";
import { dueDeliveries } from "./due-deliveries.ts";
import { all, first, type Sql, scalar } from "./sql.ts";

export const deliveriesTable = (sql: Sql) => ({
  ...dueDeliveries(sql),

  find: (id: string): Delivery | null => {
    const row = first(sql, `SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE id = ?`, id);
    return row === null ? null : toDelivery(row);
  },

  put: (one: Delivery): void => {
    sql.exec(
      `INSERT OR REPLACE INTO deliveries (${DELIVERY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
      `SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE webhook_id = ?1 AND (?2 IS NULL OR status = ?2)
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

  pendingCounts: (): Map<string, number> =>
    new Map(
      all(sql, "SELECT webhook_id, COUNT(*) AS count FROM deliveries WHERE status = 'pending' GROUP BY webhook_id").map(
        (row) => [row.webhook_id as string, row.count as number],
      ),
    ),

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
