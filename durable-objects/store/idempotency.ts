// First answers by idempotency key, for a day.

import { first, type Sql, scalar } from "./sql.ts";

export interface FirstAnswer {
  readonly bodyHash: string;
  /** JSON of the answer, without what the request itself contains. */
  readonly answer: string;
}

export const idempotencyTable = (sql: Sql) => ({
  find: (scope: string, key: string, nowAt: number): FirstAnswer | null => {
    const row = first(
      sql,
      "SELECT body_hash, answer FROM idempotency WHERE scope = ? AND key = ? AND expires_at > ?",
      scope,
      key,
      nowAt,
    );
    return row === null ? null : { bodyHash: row.body_hash as string, answer: row.answer as string };
  },

  put: (scope: string, key: string, first: FirstAnswer, expiresAt: number): void => {
    sql.exec(
      "INSERT OR REPLACE INTO idempotency (scope, key, body_hash, answer, expires_at) VALUES (?, ?, ?, ?, ?)",
      scope,
      key,
      first.bodyHash,
      first.answer,
      expiresAt,
    );
  },

  removeExpired: (nowAt: number, limit: number): void => {
    sql.exec(
      `DELETE FROM idempotency WHERE (scope, key) IN
         (SELECT scope, key FROM idempotency WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
      nowAt,
      limit,
    );
  },

  nextExpiryAt: (): number | null => scalar(sql, "SELECT MIN(expires_at) FROM idempotency"),
});
