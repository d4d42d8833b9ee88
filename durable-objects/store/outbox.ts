// Changes that history does not have yet, in order. A row is written in the transaction of its change, and deleted when
// D1 has it and the journal, whose jobs it also contains, does not need it; numbers only grow.

import { readStoredEvent, type Stored, storedEvent } from "../../domain/job/stored-timeline.ts";
import type { AuditEntry, JobEvent } from "../../domain/words/event.ts";
import type { Journal } from "./journal.ts";
import { RecentRows } from "./recent-rows.ts";
import type { SettingsTable, TenantIdentity } from "./settings.ts";
import { cells, first, type Sql, scalar } from "./sql.ts";

/** An event, with the version of the job that it made: (job, version) is its key in history. */
export interface VersionedEvent extends JobEvent {
  readonly version: number;
}

/** What is asked of an event that waits for history. */
export interface StoredEvent extends Pick<VersionedEvent, "jobId" | "version" | "at" | "type"> {
  /** All of it but its job, as history stores it (`stored-timeline.ts`). */
  readonly text: string;
}

/** How a row contains an event; earlier releases wrote it as it is. */
type EventInRow = readonly [jobId: string, event: Stored] | VersionedEvent;

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

/** What the last attempt of a job spent, told when the job had left for history, which shows it. */
export interface LateCost extends Correction {
  readonly toldAt: number;
}

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
  readonly lateCosts?: LateCost[];
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

/** What is read of it at a time. */
interface OutboxRoom {
  readonly rows: number;
  readonly chars: number;
  /** Without the rows that are written after this. */
  readonly untilAt?: number;
}

/** Changes are sent when they are this old, readers do not wait: a job that ends meanwhile is written once. */
export const DRAIN_DELAY_MS = 2_000;

type Seqs = Pick<SettingsTable, "drainedSeq" | "putDrainedSeq">;

/** An id has nothing that JSON escapes. */
const inRow = ({ jobId, text }: StoredEvent): string => `["${jobId}",${text}]`;

const textOf = ({ events, attempts, corrections, lateCosts, audit, runs, identity }: OutboxEntries): string => {
  const others = JSON.stringify({ attempts, corrections, lateCosts, audit, runs, identity });
  return `{"events":[${events.map(inRow).join(",")}],${others.slice(1)}`;
};

export const storedEventOf = (event: VersionedEvent): StoredEvent => {
  const { jobId, version, at, type } = event;
  return { jobId, version, at, type, text: storedEvent(event) };
};

const readEvent = (written: EventInRow): StoredEvent => {
  if ("jobId" in written) return storedEventOf(written);
  const [jobId, event] = written;
  const { version, at, type } = readStoredEvent(event);
  return { jobId, version, at, type, text: JSON.stringify(event) };
};

/** What a row says. */
export const readEntries = (body: string): OutboxEntries => {
  const { events, ...others } = JSON.parse(body) as Omit<OutboxEntries, "events"> & { events: EventInRow[] };
  return { events: events.map(readEvent), ...others };
};

export const outboxTable = (sql: Sql, journal: Pick<Journal, "takeRow" | "oldest">, settings: Seqs) => {
  let drainedSeq: number | null = null;
  /** History has the rows up to this one. */
  const drained = (): number => {
    drainedSeq ??= settings.drainedSeq();
    return drainedSeq;
  };
  const recent = new RecentRows<OutboxRow>();
  /** Of the rows that history does not have; null: not read yet. */
  let waitingChars: number | null = null;
  const forgetRecent = (): void => {
    recent.clear();
    drainedSeq = null;
    waitingChars = null;
  };
  const charsUpTo = (seq: number): number =>
    scalar(sql, "SELECT SUM(chars) FROM outbox WHERE seq > ? AND seq <= ?", drained(), seq) ?? 0;
  const stored = (seq: number): OutboxRow | null => {
    const query = "SELECT at, chars, body FROM outbox WHERE seq = ?";
    const row = first<{ at: number; chars: number; body: string }>(sql, query, seq);
    return row === null ? null : { seq, at: row.at, chars: row.chars, entries: readEntries(row.body) };
  };

  const firstSeq = (): number =>
    scalar(sql, "SELECT MIN(seq) FROM outbox WHERE seq > ?", drained()) ?? Number.POSITIVE_INFINITY;

  return {
    forgetRecent,

    put: (row: OutboxRow): void => {
      const { seq, at, chars, entries } = row;
      sql.exec(
        "INSERT INTO outbox (seq, at, chars, body, jobs) VALUES (?, ?, ?, ?, ?)",
        seq,
        at,
        chars,
        textOf(entries),
        journal.takeRow(seq),
      );
      if (waitingChars !== null) waitingChars += chars;
      recent.keep(row);
    },

    /** The oldest rows, from a number on, with about as many characters as there is room for; at least one. */
    oldest: (room: OutboxRoom, fromSeq = 0): OutboxRow[] => {
      const rows: OutboxRow[] = [];
      let total = 0;
      // Numbers have no gaps.
      for (let seq = Math.max(fromSeq, firstSeq()); rows.length < room.rows; seq += 1) {
        const row = recent.get(seq) ?? stored(seq);
        if (row === null) break;
        if (rows.length > 0 && (total >= room.chars || row.at > (room.untilAt ?? row.at))) break;
        rows.push(row);
        total += row.chars;
      }
      return rows;
    },

    /** The rows after one, up to the first that is not in memory. */
    recentAfter: (seq: number): OutboxRow[] => recent.after(seq),

    /** Looks through all rows. */
    lateCosts: (): LateCost[] =>
      cells(sql, `SELECT body FROM outbox WHERE body LIKE '%"lateCosts":[{%' ORDER BY seq`).flatMap(
        (body) => readEntries(body).lateCosts ?? [],
      ),

    oldestAt: (): number | null => scalar(sql, "SELECT at FROM outbox WHERE seq > ? ORDER BY seq LIMIT 1", drained()),

    /** The first that history does not have; infinity for none. */
    firstSeq,

    lastSeq: (): number => scalar(sql, "SELECT MAX(seq) FROM outbox") ?? 0,

    /** Numbers have no gaps, so this reads two rows, even after an outage of hours. */
    count: (): number =>
      scalar(
        sql,
        "SELECT (SELECT MAX(seq) FROM outbox) - (SELECT MIN(seq) FROM outbox WHERE seq > ?) + 1",
        drained(),
      ) ?? 0,

    /** How much history does not have. */
    waitingChars: (): number => {
      waitingChars ??= charsUpTo(Number.MAX_SAFE_INTEGER);
      return waitingChars;
    },

    /** No row up to this one is kept; history has them. */
    goneSeq: (): number =>
      Math.min(drained(), (scalar(sql, "SELECT MIN(seq) FROM outbox") ?? Number.POSITIVE_INFINITY) - 1),

    /**
     * History has the rows up to this one. Those that a job of the journal needs stay, until the next call. Returns how
     * much they had.
     */
    removeUpTo: (seq: number): number => {
      const taken = charsUpTo(seq);
      if (waitingChars !== null) waitingChars -= taken;
      settings.putDrainedSeq(seq);
      drainedSeq = seq;
      const neededSeq = journal.oldest?.firstSeq ?? Number.POSITIVE_INFINITY;
      sql.exec("DELETE FROM outbox WHERE seq <= ?", Math.min(seq, neededSeq - 1));
      recent.dropUpTo(seq);
      return taken;
    },
  };
};
