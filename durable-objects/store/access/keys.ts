// Keys and the dashboard's sessions: digests only, never the secrets.

import type { KeyRecord } from "../../../domain/access/key.ts";
import type { KeyLimits } from "../../../domain/access/key-limits.ts";
import { Recent } from "../recent.ts";
import { RecordSums } from "../record-sums.ts";
import { cells, first, put, record, records, type Sql, scalar } from "../sql.ts";

interface Session {
  readonly id: string;
  readonly keyId: string;
  /** Digest of the key's secret that opened it. */
  readonly keyHash: string;
  readonly hash: string;
  readonly expiresAt: number;
}

const RECENT_KEYS = 1_000;
/** Revoked keys that make room at a time. */
const REMOVED_AT_ONCE = 100;
/** As the index `keys_in_grace` has it. */
const GRACE_END = "record ->> '$.previousUntilAt'";
/** As the index `keys_to_administer` has it. */
const IS_OWN_ADMIN = `record ->> '$.role' = 'admin'
  AND record ->> '$.revokedAt' IS NULL AND record ->> '$.personId' IS NULL`;

export const keysTable = (sql: Sql) => {
  const recent = new Recent<KeyRecord>(RECENT_KEYS);
  /** No key has changed since there was no room: to look again takes long. */
  let isFull = false;
  const sums = new RecordSums(sql, "keys", "id");
  const find = (id: string): KeyRecord | null => {
    const known = recent.get(id);
    if (known !== undefined) return known;
    const found = record<KeyRecord>(sql, "SELECT record FROM keys WHERE id = ?", id);
    if (found !== null) recent.keep(id, found);
    return found;
  };
  return {
    find,

    /** Null also for no key. */
    limitsOf: (id: string | null): KeyLimits | null => (id === null ? null : (find(id)?.limits ?? null)),

    forgetRecent: (): void => {
      recent.clear();
      sums.forget();
      isFull = false;
    },

    /** Whether another key fits; where none does, the keys that were revoked first are removed, but not those in use. */
    hasRoom: (limit: number, limitChars: number, inUse: readonly (string | null)[]): boolean => {
      if (isFull || sums.areBelow(limit, limitChars)) return !isFull;
      const revoked = `SELECT id FROM keys WHERE record ->> '$.revokedAt' > 0
        AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY record ->> '$.revokedAt' LIMIT ?`;
      const ids = JSON.stringify(inUse.filter((id) => id !== null));
      sql.exec(`DELETE FROM keys WHERE id IN (${revoked})`, ids, REMOVED_AT_ONCE);
      recent.clear();
      sums.forget();
      const hasRoom = sums.areBelow(limit, limitChars);
      // A revoked key that is in use makes room when its use ends, although no key changes then.
      isFull = !hasRoom && inUse.length === 0;
      return hasRoom;
    },

    all: (): KeyRecord[] =>
      records<KeyRecord>(sql, "SELECT record FROM keys").sort((one, other) => other.createdAt - one.createdAt),

    /** The tenant's own admin keys that are not revoked, two at most: any two tell whether there is another one. */
    twoAdmins: (): KeyRecord[] => records(sql, `SELECT record FROM keys WHERE ${IS_OWN_ADMIN} LIMIT 2`),

    /** Of all keys, or of a person's. */
    newestIds: (personId: string | null): string[] => {
      const whose = personId === null ? "" : "WHERE record ->> '$.personId' = ?";
      const query = `SELECT id FROM keys ${whose} ORDER BY record ->> '$.createdAt' DESC, id`;
      return cells(sql, query, ...(personId === null ? [] : [personId]));
    },

    /** When the next replaced secret stops working. */
    nextGraceEndAt: (): number | null =>
      scalar(sql, `SELECT MIN(${GRACE_END}) FROM keys WHERE ${GRACE_END} IS NOT NULL`),

    /** Keys whose replaced secret should work no longer. */
    withEndedGrace: (nowAt: number): KeyRecord[] =>
      records(sql, `SELECT record FROM keys WHERE ${GRACE_END} <= ?`, nowAt),

    /** A person's own keys, also the revoked ones. */
    ofPerson: (personId: string): KeyRecord[] =>
      records(sql, "SELECT record FROM keys WHERE record ->> '$.personId' = ?", personId),

    put: (key: KeyRecord): void => {
      recent.keep(key.id, key);
      isFull = false;
      sums.change(key.id, () => put(sql, "keys", { id: key.id, record: JSON.stringify(key) }));
    },
  };
};

export const sessionsTable = (sql: Sql) => ({
  find: (id: string): Session | null =>
    first(
      sql,
      `SELECT id, key_id AS keyId, key_hash AS keyHash, hash, expires_at AS expiresAt FROM sessions WHERE id = ?`,
      id,
    ),

  put: (session: Session): void => {
    put(sql, "sessions", {
      id: session.id,
      key_id: session.keyId,
      key_hash: session.keyHash,
      hash: session.hash,
      expires_at: session.expiresAt,
    });
  },

  remove: (id: string): void => {
    sql.exec("DELETE FROM sessions WHERE id = ?", id);
  },

  removeOpenedWithout: (keyId: string, keyHashes: readonly string[]): void => {
    const kept = JSON.stringify(keyHashes);
    sql.exec("DELETE FROM sessions WHERE key_id = ? AND key_hash NOT IN (SELECT value FROM json_each(?))", keyId, kept);
  },

  /** Returns the ids of the removed ones. */
  removeExpired: (nowAt: number): string[] =>
    cells(sql, "DELETE FROM sessions WHERE expires_at <= ? RETURNING id", nowAt),

  /** Keeps the newest of a key; returns the ids of the removed ones. */
  removeBeyond: (keyId: string, limit: number): string[] =>
    cells(
      sql,
      `DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE key_id = ? ORDER BY expires_at DESC
        LIMIT -1 OFFSET ?) RETURNING id`,
      keyId,
      limit,
    ),

  nextExpiryAt: (): number | null => scalar(sql, "SELECT MIN(expires_at) FROM sessions"),
});
