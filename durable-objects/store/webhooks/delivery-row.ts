// A delivery as a row.

import type { Delivery, DeliveryEvent, DeliveryStatus } from "../../../domain/webhook.ts";
import type { Row } from "../sql.ts";

export const DELIVERY_COLUMNS =
  "id, webhook_id, event, at, status, attempts, response_status, error, next_attempt_at, finished_at, traceparent, body";

export const toDelivery = (row: Row): Delivery => ({
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
