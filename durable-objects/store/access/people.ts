// The people who have signed in, their sessions, and the last attempts to sign in.

import type { Attempt } from "../../../contract/access/sign-in.ts";
import type { Person } from "../../../domain/access/person.ts";
import { cells, first, put, record, records, type Sql, scalar } from "../sql.ts";

interface PersonSession {
  readonly id: string;
  readonly personId: string;
  readonly hash: string;
  readonly expiresAt: number;
}

export const KEPT_ATTEMPTS = 50;

export const peopleTable = (sql: Sql) => ({
  find: (id: string): Person | null => record(sql, "SELECT record FROM people WHERE id = ?", id),

  findSubject: (issuer: string, subject: string): Person | null =>
    record(sql, "SELECT record FROM people WHERE issuer = ? AND subject = ?", issuer, subject),

  all: (): Person[] =>
    records<Person>(sql, "SELECT record FROM people").sort((one, other) => other.lastSeenAt - one.lastSeenAt),

  /** People whose sessions and keys no worker may use: they are blocked, have no role (`roleAt`), or may only read. */
  idsWithoutWork: (): string[] =>
    cells(
      sql,
      "SELECT id FROM people WHERE record ->> '$.isBlocked' OR record ->> '$.roleAt' = 0 OR record ->> '$.role' = 'viewer'",
    ),

  count: (): number => scalar(sql, "SELECT COUNT(*) FROM people") ?? 0,

  /** `keysEndAt`: when the live keys of the person are suspended; null if there are none. */
  put: (person: Person, keysEndAt: number | null): void => {
    put(sql, "people", {
      id: person.id,
      issuer: person.issuer,
      subject: person.subject,
      keys_end_at: keysEndAt,
      record: JSON.stringify(person),
    });
  },

  nextKeysEndAt: (): number | null => scalar(sql, "SELECT MIN(keys_end_at) FROM people WHERE keys_end_at IS NOT NULL"),

  withEndedKeys: (nowAt: number): Person[] => records(sql, "SELECT record FROM people WHERE keys_end_at <= ?", nowAt),
});

export const personSessionsTable = (sql: Sql) => ({
  find: (id: string): PersonSession | null =>
    first(sql, "SELECT id, person_id AS personId, hash, expires_at AS expiresAt FROM person_sessions WHERE id = ?", id),

  put: ({ id, personId, hash, expiresAt }: PersonSession): void => {
    put(sql, "person_sessions", { id, person_id: personId, hash, expires_at: expiresAt });
  },

  remove: (id: string): void => {
    sql.exec("DELETE FROM person_sessions WHERE id = ?", id);
  },

  /** All but the `kept` that end last. Returns the ids of the removed ones. */
  removeOf: (personId: string, kept: number): string[] =>
    cells(
      sql,
      `DELETE FROM person_sessions WHERE id IN (
         SELECT id FROM person_sessions WHERE person_id = ? ORDER BY expires_at DESC, id LIMIT -1 OFFSET ?
       ) RETURNING id`,
      personId,
      kept,
    ),

  /** Returns the ids of the removed ones. */
  removeExpired: (nowAt: number): string[] =>
    cells(sql, "DELETE FROM person_sessions WHERE expires_at <= ? RETURNING id", nowAt),

  nextExpiryAt: (): number | null => scalar(sql, "SELECT MIN(expires_at) FROM person_sessions"),
});

export const attemptsTable = (sql: Sql) => ({
  /** Newest first. */
  all: (): Attempt[] => records(sql, "SELECT record FROM sign_in_attempts ORDER BY id DESC"),

  newest: (): Attempt | null => record(sql, "SELECT record FROM sign_in_attempts ORDER BY id DESC LIMIT 1"),

  /** The oldest beyond the last fifty goes. */
  add: (attempt: Attempt): void => {
    const id = (scalar(sql, "SELECT MAX(id) FROM sign_in_attempts") ?? 0) + 1;
    sql.exec("INSERT INTO sign_in_attempts (id, record) VALUES (?, ?)", id, JSON.stringify(attempt));
    sql.exec("DELETE FROM sign_in_attempts WHERE id <= ?", id - KEPT_ATTEMPTS);
  },
});

/** A key that a person has agreed to give to a program, until the program fetches it. */
interface KeyGrant {
  readonly id: string;
  readonly personId: string;
  /** SHA-256 of what only the program knows (PKCE). */
  readonly challenge: string;
  readonly name: string;
  readonly expiresAt: number;
}

export const keyGrantsTable = (sql: Sql) => ({
  /** The grant, which is gone afterwards. */
  take: (id: string): KeyGrant | null => record(sql, "DELETE FROM key_grants WHERE id = ? RETURNING record", id),

  put: (grant: KeyGrant): void => {
    sql.exec(
      "INSERT INTO key_grants (id, person_id, expires_at, record) VALUES (?, ?, ?, ?)",
      grant.id,
      grant.personId,
      grant.expiresAt,
      JSON.stringify(grant),
    );
  },

  /** A person has one at a time. */
  removeOf: (personId: string): void => {
    sql.exec("DELETE FROM key_grants WHERE person_id = ?", personId);
  },

  removeExpired: (nowAt: number): void => {
    sql.exec("DELETE FROM key_grants WHERE expires_at <= ?", nowAt);
  },

  nextExpiryAt: (): number | null => scalar(sql, "SELECT MIN(expires_at) FROM key_grants"),
});
