// Webhooks' deliveries. Each is written in the transaction of the change that it reports.

import type { Delivery, DeliveryStatus } from "../../../domain/webhook.ts";
import { all, first, put, type Sql, scalar } from "../sql.ts";
import { DELIVERY } from "./delivery-row.ts";
import { dueDeliveries } from "./due-deliveries.ts";
import { finishedDeliveries } from "./finished-deliveries.ts";

export const deliveriesTable = (sql: Sql) => ({
  ...dueDeliveries(sql),
  ...finishedDeliveries(sql),

  find: (id: string): Delivery | null => first(sql, `${DELIVERY} WHERE id = ?`, id),

  put: (one: Delivery): void => {
    put(sql, "deliveries", {
      id: one.id,
      webhook_id: one.webhookId,
      event: one.event,
      at: one.at,
      status: one.status,
      attempts: one.attempts,
      response_status: one.responseStatus,
      error: one.error,
      next_attempt_at: one.nextAttemptAt,
      finished_at: one.finishedAt,
      traceparent: one.traceparent,
      body: one.body,
    });
  },

  /** Newest first; of any status if none is given. */
  page: (webhookId: string, status: DeliveryStatus | null, limit: number, offset: number): Delivery[] =>
    all(
      sql,
      `${DELIVERY} WHERE webhook_id = ?1 AND (?2 IS NULL OR status = ?2) ORDER BY id DESC LIMIT ?3 OFFSET ?4`,
      webhookId,
      status,
      limit,
      offset,
    ),

  count: (webhookId: string, status: DeliveryStatus | null): number =>
    scalar(
      sql,
      "SELECT COUNT(*) FROM deliveries WHERE webhook_id = ?1 AND (?2 IS NULL OR status = ?2)",
      webhookId,
      status,
    ) ?? 0,

  /** Those of a deleted webhook wait for nothing. */
  pendingCounts: (): Map<string, number> =>
    new Map(
      all<{ webhookId: string; count: number }>(
        sql,
        `SELECT webhook_id AS webhookId, COUNT(*) AS count FROM deliveries
         WHERE status = 'pending' AND webhook_id IN (SELECT id FROM webhooks) GROUP BY webhook_id`,
      ).map(({ webhookId, count }) => [webhookId, count]),
    ),

  /** Fails up to `limit` waiting deliveries of a webhook that is now disabled; returns how many there were. */
  failPending: (webhookId: string, error: string, nowAt: number, limit: number): number =>
    all(
      sql,
      `UPDATE deliveries SET status = 'failed', error = ?, next_attempt_at = NULL, finished_at = ? WHERE id IN (
         SELECT id FROM deliveries WHERE webhook_id = ? AND status = 'pending' ORDER BY id LIMIT ?) RETURNING id`,
      error,
      nowAt,
      webhookId,
      limit,
    ).length,
});
