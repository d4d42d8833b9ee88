// What the turns of one commit send to history, in outbox rows of bounded size: usually one row, many after a halt of
// ten thousand jobs. A job's row in the store has the number of the outbox row with its event.

import type { AuditEntry, JobEvent } from "../../domain/words/event.ts";
import {
  type Attempt,
  type Correction,
  type LateCost,
  type OutboxEntries,
  type OutboxRow,
  type ScheduleRun,
  storedEventOf,
} from "../store/outbox.ts";
import type { TenantIdentity } from "../store/settings.ts";
import type { Memory } from "./memory/memory.ts";

/**
 * A row is closed when it and its long values have about this length, or the records in it; well below the platform's
 * 2 MB even with one more large entry.
 */
export const ROW_ROOM = { chars: 200_000, recordChars: 200_000 };
/** What an entry takes besides its detail. */
const ENTRY_CHARS = 200;

interface OpenRow extends OutboxRow {
  chars: number;
  recordChars: number;
  entries: OutboxEntries;
}

export class OutboxWriter {
  readonly #memory: Memory;
  readonly #rows: OpenRow[] = [];

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  get rows(): readonly OutboxRow[] {
    return this.#rows;
  }

  /** The number of the row for the next entries; a full row is followed by a new one. */
  open(at: number): number {
    const last = this.#rows.at(-1);
    if (last !== undefined && last.chars < ROW_ROOM.chars && last.recordChars < ROW_ROOM.recordChars) return last.seq;
    const seq = this.#memory.outbox.nextSeq;
    this.#memory.outbox.nextSeq += 1;
    this.#rows.push({ seq, at, entries: { events: [], attempts: [], audit: [], runs: [] }, chars: 0, recordChars: 0 });
    return seq;
  }

  /** Adds to the row that `open` returned last. */
  addEvent({ jobId, at, type, worker, lease, detail }: JobEvent, version: number): void {
    const row = this.#openRow();
    const stored = storedEventOf({ jobId, version, at, type, worker, lease, detail });
    row.entries.events.push(stored);
    row.chars += ENTRY_CHARS + stored.text.length;
  }

  /** Prompts, inputs and results go to history with the row that names them. */
  addChars(chars: number): void {
    this.#openRow().chars += chars;
  }

  /** A job's record, which the row itself contains; 0 if it is in a table. */
  addRecord(chars: number): void {
    if (chars > 0) this.#openRow().recordChars += chars;
  }

  addAttempt(attempt: Attempt, nowAt: number): void {
    this.open(nowAt);
    const row = this.#openRow();
    row.entries.attempts.push(attempt);
    row.chars += ENTRY_CHARS;
  }

  addCorrection(correction: Correction, nowAt: number): void {
    this.open(nowAt);
    const row = this.#openRow();
    row.entries = { ...row.entries, corrections: [...(row.entries.corrections ?? []), correction] };
    row.chars += ENTRY_CHARS;
  }

  addLateCost(cost: LateCost): void {
    this.open(cost.toldAt);
    const row = this.#openRow();
    row.entries = { ...row.entries, lateCosts: [...(row.entries.lateCosts ?? []), cost] };
    row.chars += ENTRY_CHARS;
  }

  addAudit(entry: AuditEntry): void {
    this.open(entry.at);
    const row = this.#openRow();
    row.entries.audit.push(entry);
    row.chars += charsOf(entry.detail);
  }

  addRun(run: ScheduleRun): void {
    this.open(run.ranAt);
    const row = this.#openRow();
    row.entries.runs.push(run);
    row.chars += ENTRY_CHARS;
  }

  addIdentity(identity: TenantIdentity): void {
    this.open(identity.createdAt);
    const row = this.#openRow();
    row.entries = { ...row.entries, identity };
  }

  #openRow(): OpenRow {
    const row = this.#rows.at(-1);
    if (row === undefined) throw new Error("no row is open");
    return row;
  }
}

const charsOf = (detail: unknown): number => ENTRY_CHARS + (detail === null ? 0 : JSON.stringify(detail).length);
