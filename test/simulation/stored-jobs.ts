// Every job that the object would have if it woke now: those of the tables, and from the outbox rows, in order, those
// that are in no table. Only written rows are read again.

import { isLeased, type Job } from "../../domain/job.ts";
import { isFinal } from "../../domain/job-status.ts";
import type { OutboxEntries, OutboxRow } from "../../durable-objects/store/outbox.ts";
import type { Row } from "../../durable-objects/store/sql.ts";
import type { Disk, FollowedTable, Written } from "./disk.ts";
import type { Parsed } from "./parsed.ts";

export interface JobRow {
  readonly job: Job;
  readonly orderKey: number | null;
  readonly worker: string | null;
  readonly dueAt: number | null;
  /** It is in no table. */
  readonly isJournaled: boolean;
}

export interface StoredJobs {
  readonly jobs: ReadonlyMap<string, JobRow>;
  /** By job; results as JSON. */
  readonly prompts: ReadonlyMap<string, string>;
  readonly results: ReadonlyMap<string, string>;
}

/** What one outbox row contains of a job. */
interface Change {
  readonly job: Job;
  readonly dueAt: number | null;
  readonly payload?: { readonly prompt: string };
  readonly result: unknown;
}

interface Columns {
  readonly jobs: JobRow;
  readonly payloads: string;
  readonly results: string;
  readonly outbox: OutboxRow & { readonly changes: readonly Change[] };
}

type Table = keyof Columns & FollowedTable;

const QUERIES: Readonly<Record<Table, { readonly key: string; readonly query: string }>> = {
  jobs: { key: "id", query: "SELECT id, order_key, worker, due_at, record FROM jobs" },
  payloads: { key: "job_id", query: "SELECT job_id, prompt FROM payloads" },
  results: { key: "job_id", query: "SELECT job_id, result FROM results" },
  outbox: { key: "seq", query: "SELECT seq, at, chars, body, jobs FROM outbox" },
};

const TABLES = Object.keys(QUERIES) as Table[];
const SPILLED = "SELECT CAST(value AS INTEGER) AS seq FROM settings WHERE name = 'spilled_seq'";

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

  constructor(disk: Disk, parsed: Parsed) {
    this.#disk = disk;
    this.#parsed = parsed;
  }

  /** By number. */
  get outbox(): ReadonlyMap<string | number, OutboxRow> {
    return this.#rows.outbox;
  }

  /** Reads every row. An unchanged job is the same object as in `before`. */
  readAll(before: StoredJobs | null): StoredJobs {
    for (const table of TABLES) for (const row of this.#disk.rows(QUERIES[table].query)) this.#keep(table, row);
    this.#noteSpilled();
    const ids = [...this.#rows.jobs.keys(), ...this.#rows.payloads.keys(), ...this.#changes.keys()];
    return this.#derive(new Set(ids as string[]), before, { jobs: new Map(), prompts: new Map(), results: new Map() });
  }

  /** Reads the written rows. */
  readWritten(before: StoredJobs, written: Written): StoredJobs {
    const ids = new Set<string>();
    for (const table of TABLES)
      for (const key of written.rowsOf(table)) {
        const { key: column, query } = QUERIES[table];
        const [row] = this.#disk.rows(`${query} WHERE ${column} = ?`, key);
        const named = this.#drop(table, key as string | number);
        for (const id of row === undefined ? named : [...named, ...this.#keep(table, row)]) ids.add(id);
      }
    if (written.hasTable("settings")) for (const id of this.#noteSpilled()) ids.add(id);
    if (ids.size === 0) return before;
    const { jobs, prompts, results } = before;
    return this.#derive(ids, before, { jobs: new Map(jobs), prompts: new Map(prompts), results: new Map(results) });
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
    const changes = jobs === null ? [] : this.#parsed.of<Change[]>(jobs as string);
    const entries = JSON.parse(body as string) as OutboxEntries;
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

  /** Returns the jobs that are not read from the outbox any more. */
  #noteSpilled(): string[] {
    const seq = (this.#disk.rows(SPILLED)[0]?.seq as number | undefined) ?? 0;
    if (seq === this.#spilledSeq) return [];
    this.#spilledSeq = seq;
    return [...this.#changes.keys()];
  }

  #jobRow(row: Row): JobRow {
    return {
      job: this.#parsed.of<Job>(row.record as string),
      orderKey: row.order_key as number | null,
      worker: row.worker as string | null,
      dueAt: row.due_at as number | null,
      isJournaled: false,
    };
  }

  #derive(
    ids: ReadonlySet<string>,
    before: StoredJobs | null,
    into: { jobs: Map<string, JobRow>; prompts: Map<string, string>; results: Map<string, string> },
  ): StoredJobs {
    for (const id of ids) {
      const inTable = this.#rows.jobs.get(id);
      const changes = inTable === undefined ? this.#changesOf(id) : [];
      const last = changes.at(-1);
      const next = inTable ?? (last === undefined ? undefined : rowOf(last));
      const known = before?.jobs.get(id);
      put(into.jobs, id, known !== undefined && next !== undefined && isSameRow(known, next) ? known : next);
      const payload = changes.findLast((change) => change.payload !== undefined)?.payload;
      put(into.prompts, id, payload?.prompt ?? this.#rows.payloads.get(id));
      const result = changes.findLast((change) => change.result !== null)?.result;
      put(into.results, id, result === undefined ? this.#rows.results.get(id) : JSON.stringify(result));
    }
    return into;
  }

  #changesOf(id: string): Change[] {
    const read = [...(this.#changes.get(id) ?? [])].filter(([seq]) => seq > this.#spilledSeq);
    return read.sort(([one], [other]) => one - other).map(([, change]) => change);
  }
}

const put = <T>(map: Map<string, T>, key: string, value: T | undefined): void => {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
};

/** A final job there waits for history, not for a time. */
const rowOf = ({ job, dueAt }: Change): JobRow => ({
  job,
  orderKey: job.orderKey,
  worker: isLeased(job) ? job.assignedWorker : null,
  dueAt: isFinal(job.status) ? null : dueAt,
  isJournaled: true,
});

const isSameRow = (one: JobRow, other: JobRow): boolean =>
  one.job === other.job &&
  one.orderKey === other.orderKey &&
  one.worker === other.worker &&
  one.dueAt === other.dueAt &&
  one.isJournaled === other.isJournaled;
