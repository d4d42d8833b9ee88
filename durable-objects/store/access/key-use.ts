// What keys with limits, and their people, have used: their requests and tokens in the current minute, and their open
// jobs; and by day what every key has spent.

import type { UseWindow } from "../../../domain/access/key-limits.ts";
import { all, first, put, type Sql, scalar } from "../sql.ts";

export const keyUseTable = (sql: Sql) => ({
  window: (keyId: string): UseWindow | null =>
    first(sql, "SELECT started_at AS startedAt, count, tokens FROM key_windows WHERE key_id = ?", keyId),

  putWindow: (keyId: string, { startedAt, count, tokens }: UseWindow): void => {
    put(sql, "key_windows", { key_id: keyId, started_at: startedAt, count, tokens });
  },

  /** How many of a key's people have a window. */
  windowsOfUsers: (keyId: string): number =>
    scalar(sql, "SELECT COUNT(*) FROM key_windows WHERE key_id > ? AND key_id < ?", `${keyId}/`, `${keyId}0`) ?? 0,

  /** Those of people that began before. */
  forgetWindows: (beforeAt: number): void => {
    sql.exec("DELETE FROM key_windows WHERE started_at <= ? AND instr(key_id, '/') > 0", beforeAt);
  },

  /** The counts of open jobs of keys' people. */
  openCountsOfUsers: (): [name: string, count: number][] =>
    all<{ name: string; count: number }>(
      sql,
      "SELECT key_id AS name, count FROM key_open_jobs WHERE instr(key_id, '/') > 0",
    ).map(({ name, count }) => [name, count]),

  /** Of one key's people. */
  forgetOpenCountsOfUsers: (keyId: string): void => {
    sql.exec("DELETE FROM key_open_jobs WHERE key_id > ? AND key_id < ?", `${keyId}/`, `${keyId}0`);
  },

  /** Null if the key's jobs have not been counted. */
  openCount: (keyId: string): number | null => scalar(sql, "SELECT count FROM key_open_jobs WHERE key_id = ?", keyId),

  putOpenCount: (keyId: string, count: number): void => {
    put(sql, "key_open_jobs", { key_id: keyId, count });
  },

  forgetOpenCount: (keyId: string): void => {
    sql.exec("DELETE FROM key_open_jobs WHERE key_id = ?", keyId);
  },

  /** Nano-dollars of the days that begin in [fromAt, toAt). */
  spentBetween: (keyId: string, fromAt: number, toAt: number): number =>
    scalar(
      sql,
      "SELECT SUM(nano_usd) FROM key_spending WHERE key_id = ? AND day_at >= ? AND day_at < ?",
      keyId,
      fromAt,
      toAt,
    ) ?? 0,

  addSpent: (keyId: string, dayAt: number, nanoUsd: number): void => {
    sql.exec(
      `INSERT INTO key_spending (key_id, day_at, nano_usd) VALUES (?1, ?2, ?3)
       ON CONFLICT (key_id, day_at) DO UPDATE SET nano_usd = nano_usd + ?3`,
      keyId,
      dayAt,
      nanoUsd,
    );
  },

  /** Read through the index of days. */
  oldestDayAt: (): number | null => scalar(sql, "SELECT MIN(day_at) FROM key_spending"),

  removeBefore: (dayAt: number): void => {
    sql.exec("DELETE FROM key_spending WHERE day_at < ?", dayAt);
  },
});
