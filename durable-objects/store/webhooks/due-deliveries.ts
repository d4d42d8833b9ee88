// The deliveries that wait to be sent, in the order in which they are.

import type { Delivery } from "../../../domain/webhook.ts";
import { first, type Sql, scalar } from "../sql.ts";
import { DELIVERY } from "./delivery-row.ts";

/** Literals, because SQLite plans a statement again whenever a pattern is bound to it. */
const SENDABLE = { all: "TRUE", killswitch: "event GLOB 'killswitch.*'" } as const;

/** Which deliveries may be sent now. */
export type Sendable = keyof typeof SENDABLE;

export const dueDeliveries = (sql: Sql) => ({
  /** The webhook's delivery that is due longest, if any. */
  firstDue: (webhookId: string, nowAt: number, sendable: Sendable): Delivery | null =>
    first(
      sql,
      `${DELIVERY} WHERE webhook_id = ? AND next_attempt_at <= ? AND ${SENDABLE[sendable]}
       ORDER BY next_attempt_at LIMIT 1`,
      webhookId,
      nowAt,
    ),

  nextDueAt: (webhookId: string, sendable: Sendable): number | null =>
    scalar(
      sql,
      `SELECT MIN(next_attempt_at) FROM deliveries
       WHERE webhook_id = ? AND next_attempt_at IS NOT NULL AND ${SENDABLE[sendable]}`,
      webhookId,
    ),

  /** Ids are in order of creation. */
  oldestPending: (webhookId: string, except: readonly string[]): Delivery | null =>
    first(
      sql,
      `${DELIVERY} WHERE webhook_id = ? AND status = 'pending'
         AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT 1`,
      webhookId,
      JSON.stringify(except),
    ),

  /** It is being tried, until it is put again; without an outcome by then it is due again. */
  take: (id: string, nextAttemptAt: number): void => {
    sql.exec("UPDATE deliveries SET next_attempt_at = ?, is_taken = 1 WHERE id = ?", nextAttemptAt, id);
  },

  hasTaken: (except: readonly string[]): boolean =>
    first(
      sql,
      "SELECT 1 FROM deliveries WHERE is_taken = 1 AND id NOT IN (SELECT value FROM json_each(?)) LIMIT 1",
      JSON.stringify(except),
    ) !== null,

  /** Those that are taken, and that nobody tries, are due now. */
  giveBack: (except: readonly string[], nowAt: number): void => {
    sql.exec(
      `UPDATE deliveries SET next_attempt_at = MIN(next_attempt_at, ?), is_taken = 0
       WHERE is_taken = 1 AND id NOT IN (SELECT value FROM json_each(?))`,
      nowAt,
      JSON.stringify(except),
    );
  },
});
