// The newest jobs. They are in the outbox rows that report their changes to history and in no table, so that a commit
// writes one row; most jobs begin and end here. A job's first row has all of it, a later one what has changed since. A
// job is here from its creation until history has its end, or until it has stayed too long, or until there is no more
// room. After that it is in the tables or gone, and it never comes back: a job is read from one place only, and a row
// that history has is deleted when no job here needs it, oldest first. So removing a job writes nothing: waking passes
// over what history has the end of, and over changes whose job began in a row that is gone.

import { isLeased, type Job, type JobPayload } from "../../domain/job/job.ts";
import { currentJob } from "../../domain/job/job-record.ts";
import { isFinal } from "../../domain/words/job-status.ts";
import type { Json } from "../../domain/words/json.ts";
import {
  type Change,
  changeIn,
  charsOf,
  type Journaled,
  noteWritten,
  payloadCharsOf,
  resultCharsOf,
  tell,
} from "./journaled.ts";
import { Recent } from "./recent.ts";
import type { SettingsTable } from "./settings.ts";
import { all, type Sql } from "./sql.ts";
import { WaitingLines } from "./waiting-lines.ts";

/**
 * The journal's capacity: above it the oldest jobs move to the tables. `chars` counts records, prompts, inputs and
 * results; `readChars` what waking reads, where a job stands once for each of its changes. A prompt with its input, or a
 * result, of more than `textChars` is never here. A job that history has as open stays for `stayMs` after its creation,
 * while no more than `stayChars` are written, unless it has ended: rows that history has are kept for it.
 */
export const JOURNAL_ROOM = {
  jobs: 16_000,
  chars: 16_000_000,
  readChars: 48_000_000,
  textChars: 4_096,
  stayMs: 60_000,
  stayChars: 24_000_000,
};
/** How much of it is left filled then: a commit moves about as many jobs as it adds, so that none takes long. */
const FILLED_AGAIN = 63 / 64;
/** Waking reads so many at a time. */
const ROWS_A_READ = 50;
/** Jobs that ended here and that history has, kept for reads that follow soon. */
const ENDED_JOBS = 2_000;

type Changed = Pick<Journaled, "job" | "dueAt" | "changedSeq">;

type Seqs = Pick<SettingsTable, "spilledSeq" | "putSpilledSeq" | "drainedSeq">;

export class Journal {
  readonly #sql: Sql;
  readonly #settings: Seqs;
  #isRead = false;
  /** In order of creation. */
  readonly #jobs = new Map<string, Journaled>();
  readonly #byWorker = new Map<string, Set<Journaled>>();
  readonly #waiting = new WaitingLines();
  /** The jobs that each unwritten outbox row must contain. */
  readonly #unwritten = new Map<number, Set<Journaled>>();
  readonly #ended = new Recent<Journaled>(ENDED_JOBS);
  #chars = 0;
  /** The characters of jobs in all outbox rows, also in those that are deleted. */
  #writtenChars = 0;

  constructor(sql: Sql, settings: Seqs) {
    this.#sql = sql;
    this.#settings = settings;
  }

  /** After a rollback: the rows decide what is here. */
  forget(): void {
    this.#isRead = false;
  }

  get(id: string): Journaled | undefined {
    return this.#known().get(id);
  }

  /** The same, or a job that ended here. */
  find(id: string): Journaled | undefined {
    return this.get(id) ?? this.#ended.get(id);
  }

  /** Those open jobs that `fits` selects, oldest first. */
  open(fits: (job: Job) => boolean = () => true): Journaled[] {
    return [...this.#known().values()].filter(({ job }) => !isFinal(job.status) && fits(job));
  }

  /** The newest, and all that ended here, in any order. */
  newest(limit: number): Journaled[] {
    return [...[...this.#known().values()].slice(-limit), ...this.#ended.values()];
  }

  heldBy(worker: string): Journaled[] {
    this.#known();
    return [...(this.#byWorker.get(worker) ?? [])];
  }

  /** The waiting jobs of each group. */
  get lines(): WaitingLines["byGroup"] {
    this.#known();
    return this.#waiting.byGroup;
  }

  /** The waiting jobs of a group's lane; undefined for none. */
  lane(groupKey: string, lane: string): ReturnType<WaitingLines["lane"]> {
    this.#known();
    return this.#waiting.lane(groupKey, lane, (id) => this.#jobs.get(id)?.job);
  }

  get isFull(): boolean {
    return this.#filledBy(this.#known().size, this.#chars, this.oldest?.begunAtChars) > 1;
  }

  #filledBy(jobs: number, chars: number, readFrom = this.#writtenChars): number {
    const room = JOURNAL_ROOM;
    return Math.max(jobs / room.jobs, chars / room.chars, (this.#writtenChars - readFrom) / room.readChars);
  }

  /** It is full soon, unless history is sent what it has. */
  get isCrowded(): boolean {
    return this.#known().size > JOURNAL_ROOM.jobs / 2 || this.#chars > JOURNAL_ROOM.chars / 2;
  }

  /** Returns how many characters of it go into its outbox row. */
  add(job: Job, dueAt: number | null, seq: number): number {
    this.#known();
    const kept = this.#insert({ job, dueAt, changedSeq: seq });
    this.#mustBeWritten(kept, seq);
    return kept.text.length;
  }

  /** The same for a change. */
  change(kept: Journaled, job: Job, dueAt: number | null, seq: number): number {
    this.#update(kept, { job, dueAt, changedSeq: seq });
    this.#mustBeWritten(kept, seq);
    return kept.text.length;
  }

  keepPayload(kept: Journaled, payload: JobPayload, chars: number): void {
    this.#chars += chars - kept.payloadChars;
    kept.payload = payload;
    kept.payloadChars = chars;
  }

  keepResult(kept: Journaled, result: Json, chars: number): void {
    this.#chars += chars - kept.resultChars;
    kept.result = result;
    kept.resultChars = chars;
  }

  remove(kept: Journaled): void {
    this.#displace(kept);
    this.#jobs.delete(kept.job.id);
  }

  /** History has all of it. */
  end(kept: Journaled): void {
    this.remove(kept);
    this.#ended.keep(kept.job.id, kept);
  }

  forgetEnded(nowAt: number): void {
    for (const { job, dueAt } of this.#ended.values()) if ((dueAt ?? 0) <= nowAt) this.#ended.drop(job.id);
  }

  /** A job that ended here and continues. */
  takeEnded(id: string): Journaled | undefined {
    const ended = this.#ended.get(id);
    this.#ended.drop(id);
    return ended;
  }

  /** What outbox row `seq` must contain of them; null for nothing. */
  takeRow(seq: number): string | null {
    const changed = [...(this.#unwritten.get(seq) ?? [])].filter((kept) => this.#jobs.get(kept.job.id) === kept);
    this.#unwritten.delete(seq);
    if (changed.length === 0) return null;
    const text = `[${changed.map((kept) => changeIn(kept, seq)).join(",")}]`;
    for (const kept of changed) if (kept.changedSeq === seq) noteWritten(kept);
    this.#writtenChars += text.length;
    return text;
  }

  /** Those created in rows up to `seq`, oldest first. */
  *createdUpTo(seq: number): Generator<Journaled> {
    for (const kept of this.#known().values()) {
      if (kept.firstSeq > seq) return;
      yield kept;
    }
  }

  /** Whether it may be here although history has its creation. */
  mayStay({ job, begunAtChars }: Journaled, nowAt: number): boolean {
    const isYoung = nowAt < job.createdAt + JOURNAL_ROOM.stayMs;
    // A job that has ended leaves as soon as history has its end: a burst must not write each job once more.
    const isShort = isFinal(job.status) || this.#writtenChars - begunAtChars <= JOURNAL_ROOM.stayChars;
    return isYoung && isShort;
  }

  /** The oldest job here. */
  get oldest(): Pick<Journaled, "job" | "firstSeq" | "begunAtChars"> | null {
    for (const kept of this.#known().values()) return kept;
    return null;
  }

  /** The row up to which jobs must go, so that there is room for some more. */
  get roomSeq(): number {
    let [jobs, chars, seq] = [this.#jobs.size, this.#chars, 0];
    for (const kept of this.#jobs.values()) {
      if (kept.firstSeq > seq && this.#filledBy(jobs, chars, kept.begunAtChars) <= FILLED_AGAIN) break;
      seq = kept.firstSeq;
      jobs -= 1;
      chars -= charsOf(kept);
    }
    return seq;
  }

  /** No job is read from rows up to `seq` any more, although history does not have them. */
  noteSpilled(seq: number): void {
    this.#settings.putSpilledSeq(seq);
  }

  #known(): ReadonlyMap<string, Journaled> {
    if (!this.#isRead) this.#read();
    return this.#jobs;
  }

  /** Reads the journal from its rows. A job that is also in a table has continued there, so it is skipped. */
  #read(): void {
    for (const memory of [this.#jobs, this.#byWorker, this.#waiting, this.#unwritten, this.#ended]) memory.clear();
    this.#chars = 0;
    this.#writtenChars = 0;
    const rows = "SELECT MIN(seq) AS first, MAX(seq) AS last FROM outbox WHERE seq > ?";
    const [{ first, last } = {}] = all(this.#sql, rows, this.#settings.spilledSeq());
    for (let seq = Number(first ?? 1); seq <= Number(last ?? 0); seq += ROWS_A_READ) this.#readRows(seq);
    this.#isRead = true;
    const drainedSeq = this.#settings.drainedSeq();
    for (const kept of this.#jobs.values())
      if (isFinal(kept.job.status) && kept.changedSeq <= drainedSeq) this.remove(kept);
  }

  #readRows(fromSeq: number): void {
    const rows = all(
      this.#sql,
      `SELECT outbox.seq, change.value AS change FROM outbox, json_each(outbox.jobs) AS change
       WHERE outbox.jobs IS NOT NULL AND outbox.seq >= ? AND outbox.seq < ?
         AND NOT EXISTS (SELECT 1 FROM jobs WHERE id = change.value ->> '$.job.id')
       ORDER BY outbox.seq`,
      fromSeq,
      fromSeq + ROWS_A_READ,
    );
    for (const [seq, changes] of Map.groupBy(rows, (row) => row.seq as number)) {
      for (const { change } of changes) this.#replay(change as string, seq);
      for (const { change } of changes) this.#writtenChars += (change as string).length;
    }
  }

  #replay(written: string, seq: number): void {
    const change = JSON.parse(written) as Change;
    const known = this.#jobs.get(change.job.id);
    if (known === undefined && !change.begins) return;
    const job = change.isPart && known !== undefined ? { ...known.job, ...change.job } : currentJob(change.job);
    const changed = { job, dueAt: change.dueAt, changedSeq: seq };
    if (known !== undefined) this.#update(known, changed);
    const kept = known ?? this.#insert(changed);
    noteWritten(kept);
    kept.hasRows = change.hasRows;
    if (change.payload !== undefined) this.keepPayload(kept, change.payload, payloadCharsOf(change.payload));
    this.keepResult(kept, change.result, resultCharsOf(change.result));
  }

  #insert(change: Changed): Journaled {
    const texts = { payload: null, payloadChars: 0, result: null, resultChars: 0, hasRows: false };
    const untold = { written: null, text: "", beganChars: 0, recordChars: 0 };
    const begun = { firstSeq: change.changedSeq, begunAtChars: this.#writtenChars };
    const kept: Journaled = { ...change, ...begun, ...untold, ...texts };
    tell(kept);
    this.#jobs.set(change.job.id, kept);
    this.#place(kept);
    return kept;
  }

  #update(kept: Journaled, change: Changed): void {
    this.#displace(kept);
    kept.job = change.job;
    kept.dueAt = change.dueAt;
    kept.changedSeq = change.changedSeq;
    tell(kept);
    this.#place(kept);
  }

  #mustBeWritten(kept: Journaled, seq: number): void {
    const unwritten = this.#unwritten.get(seq);
    if (unwritten === undefined) this.#unwritten.set(seq, new Set([kept]));
    else unwritten.add(kept);
  }

  #place(kept: Journaled): void {
    const { job } = kept;
    this.#chars += charsOf(kept);
    this.#waiting.add(job);
    if (!isLeased(job) || job.assignedWorker === null) return;
    const held = this.#byWorker.get(job.assignedWorker) ?? new Set();
    this.#byWorker.set(job.assignedWorker, held.add(kept));
  }

  #displace(kept: Journaled): void {
    const { job } = kept;
    this.#chars -= charsOf(kept);
    this.#waiting.remove(job);
    const held = this.#byWorker.get(job.assignedWorker ?? "");
    held?.delete(kept);
    if (held?.size === 0) this.#byWorker.delete(job.assignedWorker ?? "");
  }
}
