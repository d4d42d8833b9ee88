// What the turns of a stretch tell history, in outbox rows of bounded size: one row as a rule, many after a halt of ten
// thousand jobs, and each of them travels. A job's row in the store bears the number of the outbox row that its event
// went into.

import type { AuditEntry } from "../../domain/event.ts";
import type { Memory } from "../memory.ts";
import type { Attempt, OutboxRow, ScheduleRun, StoredEvent, Tidings } from "../store/outbox.ts";
import type { TenantIdentity } from "../store/settings.ts";

/** A row is closed once it and the long values it brings to history are about this long; well below the platform's
 * 2 MB even with one large entry more. */
const FULL_CHARS = 200_000;
/** What an entry takes beside its detail. */
const ENTRY_CHARS = 200;

interface Page extends OutboxRow {
  chars: number;
  tidings: Tidings;
}

export class News {
  readonly #memory: Memory;
  readonly #pages: Page[] = [];

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  get rows(): readonly OutboxRow[] {
    return this.#pages;
  }

  /** The number of the row that takes the next entries; a full one is turned over. */
  open(at: number): number {
    const last = this.#pages.at(-1);
    if (last !== undefined && last.chars < FULL_CHARS) return last.seq;
    const seq = this.#memory.nextSeq;
    this.#memory.nextSeq += 1;
    this.#pages.push({ seq, at, tidings: { events: [], attempts: [], audit: [], runs: [] }, chars: 0 });
    return seq;
  }

  /** Into the row that `open` named last. */
  addEvents(events: readonly StoredEvent[]): void {
    const page = this.#page();
    page.tidings.events.push(...events);
    for (const { detail } of events) page.chars += charsOf(detail);
  }

  /** Prompts, inputs and results travel with the row that tells of them. */
  weigh(chars: number): void {
    this.#page().chars += chars;
  }

  addAttempt(attempt: Attempt): void {
    this.open(attempt.at);
    const page = this.#page();
    page.tidings.attempts.push(attempt);
    page.chars += ENTRY_CHARS;
  }

  addAudit(entry: AuditEntry): void {
    this.open(entry.at);
    const page = this.#page();
    page.tidings.audit.push(entry);
    page.chars += charsOf(entry.detail);
  }

  addRun(run: ScheduleRun): void {
    this.open(run.ranAt);
    const page = this.#page();
    page.tidings.runs.push(run);
    page.chars += ENTRY_CHARS;
  }

  addIdentity(identity: TenantIdentity): void {
    this.open(identity.createdAt);
    const page = this.#page();
    page.tidings = { ...page.tidings, identity };
  }

  #page(): Page {
    const page = this.#pages.at(-1);
    if (page === undefined) throw new Error("no row is open");
    return page;
  }
}

const charsOf = (detail: unknown): number => ENTRY_CHARS + (detail === null ? 0 : JSON.stringify(detail).length);
