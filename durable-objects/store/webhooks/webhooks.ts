// Webhooks.

import type { Webhook } from "../../../domain/webhook.ts";
import { put, records, type Sql } from "../sql.ts";

export const webhooksTable = (sql: Sql) => ({
  /** Newest first. */
  all: (): Webhook[] =>
    records<Webhook>(sql, "SELECT record FROM webhooks").sort((one, other) => other.createdAt - one.createdAt),

  put: (webhook: Webhook): void => {
    put(sql, "webhooks", { id: webhook.id, record: JSON.stringify(webhook) });
  },

  /** Its deliveries are left, perhaps very many. */
  remove: (id: string): void => {
    sql.exec("DELETE FROM webhooks WHERE id = ?", id);
  },
});
