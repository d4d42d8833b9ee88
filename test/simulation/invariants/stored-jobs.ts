// Every job that the object would have if it woke now: those of the tables, and from the outbox rows, in order, those
// that are in no table. Only written rows are read again.

import { isLeased, type Job } from "../../../domain/job/job.ts";
import { currentJob } from "../../../domain/job/job-record.ts";
import { readStoredEvent, type Stored } from "../../../domain/job/stored-timeline.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import { type OutboxRow, readEntries, type VersionedEvent } from "../../../durable-objects/store/outbox.ts";
import type { Row } from "../../../durable-objects/store/sql.ts";
import type { Disk, FollowedTable, Written } from "../platform/disk.ts";
import type { Parsed } from "./parsed.ts";
import { VersionedMap } from "./versioned-map.ts";

export interface JobRow {
  readonly job: Job;
  readonly orderKey: number | null;
  readonly worker: string | null;
  readonly dueAt: number | null;
  /** The outbox row that it began in, if it is in no table. */
  readonly beganSeq: number | null;
}

export interface StoredJobs {
  readonly jobs: VersionedMap<JobRow>;
  /** By job; results as JSON. */
  readonly prompts: VersionedMap<string>;
  readonly results: VersionedMap<string>;
  /** The jobs that were read again: no other one can differ from what was read before. */
  readonly reread: ReadonlySet<string>;
}

const nothing = (): StoredJobs => ({
  jobs: new VersionedMap(),
  prompts: new VersionedMap(),
  results: new VersionedMap(),
  reread: new Set(),
});

/** What one outbox row contains of a job. */
interface Change {
  readonly job: Job;
  /** Only the fields that changed since the row before. */
  readonly isPart?: true;
  readonly dueAt: number | null;
  readonly payload?: { readonly prompt: string };
  readonly result: unknown;
  readonly begins?: boolean;
}

/** An outbox row with all that its events say. */
export interface TellingRow extends OutboxRow {
  readonly entries: OutboxRow["entries"] & { readonly events: readonly VersionedEvent[] };
}

const tellingEntries = (body: string): TellingRow["entries"] => {
  const entries = readEntries(body);
  const events = entries.events.map((one) => ({ ...one, ...readStoredEvent(JSON.parse(one.text) as Stored) }));
  return { ...entries, events };
};

interface Columns {
  readonly jobs: JobRow;
  readonly payloads: string;
  readonly results: string;
  readonly outbox: TellingRow & { readonly changes: readonly Change[] };
}

type Table = keyof Columns & FollowedTable;

interface Queries {
  readonly key: string;
  readonly all: string;
  readonly one: string;
}

const queriesOf = (key: string, all: string): Queries => ({ key, all, one: `${all} WHERE ${key} = ?` });

const QUERIES: Readonly<Record<Table, Queries>> = {
  jobs: queriesOf("id", "SELECT id, order_key, worker, due_at, record FROM jobs"),
  payloads: queriesOf("job_id", "SELECT job_id, prompt FROM payloads"),
  results: queriesOf("job_id", "SELECT job_id, result FROM results"),
  outbox: queriesOf("seq", "SELECT seq, at, chars, body, jobs FROM outbox"),
};

const TABLES = Object.keys(QUERIES) as Table[];
const SEQS = ["spilled_seq", "drained_seq"];
const SEQ = "SELECT CAST(value AS INTEGER) AS seq FROM settings WHERE name = ?";

/** The rows as last read. */
export class JobIndex {
  readonly #disk: Disk;
  readonly #parsed: Parsed;
  readonly #rows: { readonly [T in Table]: Map<string | number, Columns[T]> } = {
    jobs: new Map(),
    payloads: new Map(),
    results: new Map(),
    outbox: new Map(),
  };
  /** What the outbox has of each job, by row. */
  readonly #changes = new Map<string, Map<number, Change>>();
  #spilledSeq = 0;
  #drainedSeq = 0;

  constructor(disk: Disk, parsed: Parsed) {
    this.#disk = disk;
    this.#parsed = parsed;
  }

  /** What history does not have, by number. */
  get outbox(): ReadonlyMap<string | number, TellingRow> {
    const unsent = new Map<string | number, TellingRow>();
    for (const [key, row] of this.#rows.outbox) if (row.seq > this.#drainedSeq) unsent.set(key, row);
    return unsent;
  }

  isOf(disk: Disk): boolean {
    return disk === this.#disk;
  }

  /** Reads every row. An unchanged job is the same object as in `before`. */
  readAll(before: StoredJobs | null): StoredJobs {
    for (const table of TABLES) for (const row of this.#disk.rows(QUERIES[table].all)) this.#keep(table, row);
    this.#noteSeqs();
    const last = before ?? nothing();
    const { jobs, payloads, results } = this.#rows;
    const maps = [jobs, payloads, results, this.#changes, last.jobs, last.prompts, last.results];
    return this.#derive(new Set(maps.flatMap((map) => [...map.keys()] as string[])), last);
  }

  /** Reads the written rows. */
  readWritten(before: StoredJobs, written: Written): StoredJobs {
    const ids = new Set<string>();
    for (const table of TABLES)
      for (const key of written.rowsOf(table)) {
        const [row] = this.#disk.rows(QUERIES[table].one, key);
        const named = this.#drop(table, key as string | number);
        for (const id of row === undefined ? named : [...named, ...this.#keep(table, row)]) ids.add(id);
      }
    const isMoved = SEQS.some((name) => written.rowsOf("settings").has(name));
    if (isMoved) for (const id of this.#noteSeqs()) ids.add(id);
    return this.#derive(ids, before);
  }

  /** Returns the jobs that the row is about. */
  #keep(table: Table, row: Row): string[] {
    const { key } = QUERIES[table];
    if (table === "outbox") return this.#keepOutbox(row);
    const id = row[key] as string;
    if (table === "jobs") this.#rows.jobs.set(id, this.#jobRow(row));
    else if (table === "payloads") this.#rows.payloads.set(id, row.prompt as string);
    else this.#rows.results.set(id, row.result as string);
    return [id];
  }

  #keepOutbox({ seq, at, chars, body, jobs }: Row): string[] {
    const written = jobs === null ? [] : this.#parsed.of<Change[]>(jobs as string);
    const changes = written.map((change) => (change.isPart ? change : { ...change, job: wholeJob(change.job) }));
    const entries = tellingEntries(body as string);
    const row = { seq: seq as number, at: at as number, chars: chars as number, entries, changes };
    this.#rows.outbox.set(row.seq, row);
    for (const change of changes) {
      const ofJob = this.#changes.get(change.job.id) ?? new Map();
      this.#changes.set(change.job.id, ofJob.set(row.seq, change));
    }
    return changes.map(({ job }) => job.id);
  }

  /** The same for a row that was written again or is gone. */
  #drop(table: Table, key: string | number): string[] {
    const changes = table === "outbox" ? (this.#rows.outbox.get(key)?.changes ?? []) : [];
    this.#rows[table].delete(key);
    if (table !== "outbox") return [key as string];
    for (const { job } of changes) {
      const ofJob = this.#changes.get(job.id);
      ofJob?.delete(key as number);
      if (ofJob?.size === 0) this.#changes.delete(job.id);
    }
    return changes.map(({ job }) => job.id);
  }

  /** Returns the jobs that may not be read from the outbox any more. */
  #noteSeqs(): string[] {
    const [spilled = 0, drained = 0] = SEQS.map((name) => this.#disk.rows(SEQ, name)[0]?.seq as number | undefined);
    if (spilled === this.#spilledSeq && drained === this.#drainedSeq) return [];
    this.#spilledSeq = spilled;
    this.#drainedSeq = drained;
    return [...this.#changes.keys()];
  }

  #jobRow(row: Row): JobRow {
    return {
      job: this.#parsed.of<Job>(row.record as string),
      orderKey: row.order_key as number | null,
      worker: row.worker as string | null,
      dueAt: row.due_at as number | null,
      beganSeq: null,
    };
  }

  #derive(ids: ReadonlySet<string>, before: StoredJobs): StoredJobs {
    const jobs: [string, JobRow | undefined][] = [];
    const prompts: [string, string | undefined][] = [];
    const results: [string, string | undefined][] = [];
    for (const id of ids) {
      const { last, beganSeq, prompt, result } = this.#journaled(id);
      const next = this.#rows.jobs.get(id) ?? (last === null ? undefined : rowOf(last, beganSeq));
      const known = before.jobs.get(id);
      jobs.push([id, known !== undefined && next !== undefined && isSameRow(known, next) ? known : next]);
      prompts.push([id, prompt ?? this.#rows.payloads.get(id)]);
      results.push([id, result === null ? this.#rows.results.get(id) : JSON.stringify(result)]);
    }
    return {
      jobs: before.jobs.with(jobs),
      prompts: before.prompts.with(prompts),
      results: before.results.with(results),
      reread: ids,
    };
  }

  /** The latest that the outbox has of a job; nothing if a table has the job, or history its end. */
  #journaled(id: string): Journaled {
    const found = { ...NOTHING };
    const changes = this.#rows.jobs.has(id) ? undefined : this.#changes.get(id);
    let lastSeq = 0;
    for (const [seq, change] of [...(changes ?? [])].sort(bySeq)) {
      if (seq <= this.#spilledSeq || (found.last === null && change.begins === false)) continue;
      lastSeq = seq;
      if (found.last === null) found.beganSeq = seq;
      found.last = change.isPart && found.last !== null ? withPart(found.last, change) : change;
      found.prompt = change.payload?.prompt ?? found.prompt;
      found.result = change.result ?? found.result;
    }
    const hasLeft = found.last !== null && isFinal(found.last.job.status) && lastSeq <= this.#drainedSeq;
    return hasLeft ? NOTHING : found;
  }
}

interface Journaled {
  last: Change | null;
  beganSeq: number;
  prompt: string | null;
  result: unknown;
}

const NOTHING: Journaled = { last: null, beganSeq: 0, prompt: null, result: null };

const whole = new WeakMap<Job, Job>();

/** The same object for the same record. */
const wholeJob = (record: Job): Job => {
  const job = whole.get(record) ?? currentJob(record);
  whole.set(record, job);
  return job;
};

const parts = new WeakMap<Job, { readonly before: Job; readonly job: Job }>();

/** The same job for the same part of the same job. */
const withPart = ({ job: before }: Change, change: Change): Change => {
  const known = parts.get(change.job);
  const job = known?.before === before ? known.job : { ...before, ...change.job };
  parts.set(change.job, { before, job });
  return { ...change, job };
};

const bySeq = ([one]: [number, Change], [other]: [number, Change]): number => one - other;

/** A final job there waits for history, not for a time. */
const rowOf = ({ job, dueAt }: Change, beganSeq: number): JobRow => ({
  job,
  orderKey: job.orderKey,
  worker: isLeased(job) ? job.assignedWorker : null,
  dueAt: isFinal(job.status) ? null : dueAt,
  beganSeq,
});

const isSameRow = (one: JobRow, other: JobRow): boolean =>
  one.job === other.job &&
  one.orderKey === other.orderKey &&
  one.worker === other.worker &&
  one.dueAt === other.dueAt &&
  one.beganSeq === other.beganSeq;
