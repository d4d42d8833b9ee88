// Changes that history does not have yet, in order. A row is written in the transaction of its change and deleted when
// D1 has it; numbers only grow. It also contains the journal's jobs.

import type { AuditEntry, JobEvent } from "../../domain/words/event.ts";
import type { Journal } from "./journal.ts";
import type { TenantIdentity } from "./settings.ts";
import { all, first, type Sql, scalar } from "./sql.ts";

/** An event, with the version of the job that it made: (job, version) is its key in history. */
export interface StoredEvent extends JobEvent {
  readonly version: number;
}

/** The cost of one attempt; (job, lease) is its key in history. */
export interface Attempt {
  readonly jobId: string;
  readonly lease: number;
  readonly at: number;
  readonly provider: string;
  readonly model: string | null;
  readonly worker: string;
  /** `late`: it ended without a report, and reported its cost later. */
  readonly outcome: "completed" | "failed" | "late";
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly reasoningTokens: number;
  readonly nanoUsd: number | null;
  readonly source: string;
  readonly price: string | null;
}

/** What an attempt spent, told after its estimate was recorded, whose place it takes. */
export type Correction = Omit<Attempt, "at" | "provider" | "model" | "worker" | "outcome">;

export interface ScheduleRun {
  readonly schedule: string;
  readonly scheduledFor: number;
  readonly ranAt: number;
  readonly outcome: "created" | "skipped" | "failed";
  readonly reason: string | null;
  readonly jobId: string | null;
  readonly missed: number;
}

/** Everything that the turns of one commit send to history. */
export interface OutboxEntries {
  readonly events: StoredEvent[];
  readonly attempts: Attempt[];
  readonly corrections?: Correction[];
  readonly audit: AuditEntry[];
  readonly runs: ScheduleRun[];
  readonly identity?: TenantIdentity;
}

export interface OutboxRow {
  readonly seq: number;
  readonly at: number;
  /** Its approximate size in history: itself, and the prompts, inputs and results that go with it. */
  readonly chars: number;
  readonly entries: OutboxEntries;
}

/** Changes are collected for this long and sent together: a job that ends meanwhile is written once. Readers do not wait. */
export const DRAIN_DELAY_MS = 500;
/** Rows that leave soon after they came are not read again, up to this many characters. */
const RECENT_CHARS = 8_000_000;

export const outboxTable = (sql: Sql, journal: Pick<Journal, "takeRow" | "needs">) => {
  const recent = new Map<number, OutboxRow>();
  let recentChars = 0;
  const forgetRecent = (): void => {
    recent.clear();
    recentChars = 0;
  };
  const read = (seq: number): OutboxEntries =>
    JSON.parse(first(sql, "SELECT body FROM outbox WHERE seq = ?", seq)?.body as string) as OutboxEntries;

  return {
    forgetRecent,

    put: (row: OutboxRow): void => {
      const { seq, at, chars, entries } = row;
      const body = JSON.stringify(entries);
      sql.exec(
        "INSERT INTO outbox (seq, at, chars, body, jobs) VALUES (?, ?, ?, ?, ?)",
        seq,
        at,
        chars,
        body,
        journal.takeRow(seq),
      );
      if (recentChars + chars > RECENT_CHARS) return;
      recent.set(seq, row);
      recentChars += chars;
    },

    /** The oldest rows, from a number on, with about as many characters as there is room for; at least one. */
    oldest: (room: { readonly rows: number; readonly chars: number }, fromSeq = 0): OutboxRow[] => {
      const rows: OutboxRow[] = [];
      let total = 0;
      const query = "SELECT seq, at, chars FROM outbox WHERE seq >= ? ORDER BY seq LIMIT ?";
      for (const row of all(sql, query, fromSeq, room.rows)) {
        if (rows.length > 0 && total >= room.chars) break;
        const [seq, at, chars] = [row.seq as number, row.at as number, row.chars as number];
        rows.push(recent.get(seq) ?? { seq, at, chars, entries: read(seq) });
        total += chars;
      }
      return rows;
    },

    oldestAt: (): number | null =>
      (first(sql, "SELECT at FROM outbox ORDER BY seq LIMIT 1")?.at as number | undefined) ?? null,

    /** Infinity while the outbox is empty. */
    firstSeq: (): number => scalar(sql, "SELECT MIN(seq) FROM outbox") ?? Number.POSITIVE_INFINITY,

    lastSeq: (): number => scalar(sql, "SELECT MAX(seq) FROM outbox") ?? 0,

    /** Numbers have no gaps, so this reads two rows, even after an outage of hours. */
    count: (): number => scalar(sql, "SELECT (SELECT MAX(seq) FROM outbox) - (SELECT MIN(seq) FROM outbox) + 1") ?? 0,

    charsUpTo: (seq: number): number => scalar(sql, "SELECT SUM(chars) FROM outbox WHERE seq <= ?", seq) ?? 0,

    /** Throws if a job of the journal would be lost with them. */
    removeUpTo: (seq: number): void => {
      if (journal.needs(seq)) throw new Error(`the journal needs outbox rows up to ${seq}`);
      sql.exec("DELETE FROM outbox WHERE seq <= ?", seq);
      for (const [known, { chars }] of recent) {
        if (known > seq) break;
        recent.delete(known);
        recentChars -= chars;
      }
    },
  };
};
