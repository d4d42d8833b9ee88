// First answers by idempotency key, for a day. Each API key has keys of its own.

import { first, type Sql, scalar } from "../sql.ts";

export interface FirstAnswer {
  readonly bodyHash: string;
  /** JSON of the answer, without what the request itself contains. */
  readonly answer: string;
}

/** What the caller repeats: its key is of one API key, and of one kind of request. */
export interface IdempotencyPlace {
  readonly keyId: string;
  readonly scope: string;
  readonly key: string;
}

export const idempotencyTable = (sql: Sql) => ({
  /** A row without an API key is of an earlier release. */
  find: ({ keyId, scope, key }: IdempotencyPlace, nowAt: number): FirstAnswer | null => {
    const row = first(
      sql,
      `SELECT body_hash, answer FROM idempotency
        WHERE key_id IN (?, '') AND scope = ? AND key = ? AND expires_at > ? ORDER BY key_id DESC LIMIT 1`,
      keyId,
      scope,
      key,
      nowAt,
    );
    return row === null ? null : { bodyHash: row.body_hash as string, answer: row.answer as string };
  },

  put: ({ keyId, scope, key }: IdempotencyPlace, first: FirstAnswer, expiresAt: number): void => {
    sql.exec(
      "INSERT OR REPLACE INTO idempotency (key_id, scope, key, body_hash, answer, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
      keyId,
      scope,
      key,
      first.bodyHash,
      first.answer,
      expiresAt,
    );
  },

  remove: ({ keyId, scope, key }: IdempotencyPlace): void => {
    sql.exec("DELETE FROM idempotency WHERE key_id = ? AND scope = ? AND key = ?", keyId, scope, key);
  },

  removeExpired: (nowAt: number, limit: number): void => {
    sql.exec(
      `DELETE FROM idempotency WHERE (key_id, scope, key) IN
         (SELECT key_id, scope, key FROM idempotency WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
      nowAt,
      limit,
    );
  },

  nextExpiryAt: (): number | null => scalar(sql, "SELECT MIN(expires_at) FROM idempotency"),
});
