// A delivery as its row: each statement names the columns as the record has them.

export const DELIVERY = `SELECT id, webhook_id AS webhookId, event, at, status, attempts, response_status AS responseStatus,
  error, next_attempt_at AS nextAttemptAt, finished_at AS finishedAt, traceparent, body FROM deliveries`;
