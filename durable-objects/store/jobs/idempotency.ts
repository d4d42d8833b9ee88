// First answers by idempotency key, for a day. Each API key has keys of its own.

import { first, put, type Sql, scalar } from "../sql.ts";

interface FirstAnswer {
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
    const query = `SELECT body_hash AS bodyHash, answer FROM idempotency
      WHERE key = ? AND scope = ? AND key_id IN (?, '') AND expires_at > ? ORDER BY key_id DESC LIMIT 1`;
    return first(sql, query, key, scope, keyId, nowAt);
  },

  put: ({ keyId, scope, key }: IdempotencyPlace, answer: FirstAnswer, expiresAt: number): void => {
    put(sql, "idempotency", {
      key_id: keyId,
      scope,
      key,
      body_hash: answer.bodyHash,
      answer: answer.answer,
      expires_at: expiresAt,
    });
  },

  remove: ({ keyId, scope, key }: IdempotencyPlace): void => {
    sql.exec("DELETE FROM idempotency WHERE key_id = ? AND scope = ? AND key = ?", keyId, scope, key);
  },

  removeExpired: (nowAt: number, limit: number): void => {
    sql.exec(
      `DELETE FROM idempotency WHERE n IN
       (SELECT n FROM idempotency WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
      nowAt,
      limit,
    );
  },

  nextExpiryAt: (): number | null => scalar(sql, "SELECT MIN(expires_at) FROM idempotency"),
});
