// Deliveries that are kept to be shown, until they are old or many.

import { cells, first, type Sql } from "../sql.ts";

export const finishedDeliveries = (sql: Sql) => ({
  /** When the first finished delivery ended, and how often deliveries were written since: a write takes a new row id. */
  oldestFinished: (): { readonly at: number; readonly writesSince: number } | null =>
    first(
      sql,
      `SELECT finished_at AS at, (SELECT MAX(rowid) FROM deliveries) - rowid AS writesSince FROM deliveries
       WHERE finished_at IS NOT NULL ORDER BY finished_at LIMIT 1`,
    ),

  /** A webhook that is not there any more, and has deliveries. Looks at one row of each webhook. */
  webhookGone: (): string | null => {
    const [id] = cells(
      sql,
      `WITH RECURSIVE seen (id) AS (SELECT MIN(webhook_id) FROM deliveries UNION ALL
         SELECT (SELECT MIN(webhook_id) FROM deliveries WHERE webhook_id > seen.id) FROM seen WHERE id IS NOT NULL)
       SELECT id FROM seen WHERE id IS NOT NULL AND id NOT IN (SELECT id FROM webhooks) LIMIT 1`,
    );
    return id ?? null;
  },

  removeSome: (webhookId: string, limit: number): void => {
    sql.exec(
      "DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE webhook_id = ? LIMIT ?)",
      webhookId,
      limit,
    );
  },

  /** Those that ended before `at`, and those since which `writesSince` deliveries were written; the oldest first. */
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
