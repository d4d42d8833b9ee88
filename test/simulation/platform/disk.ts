// The object's storage on node:sqlite: committed data survives every crash, including the alarm. A handle belongs to
// one life of the object; afterwards it neither reads nor writes. Notes which rows were written, so that a check need
// not read the others.

import type { Row, Sql, SqlValue, TenantStorage } from "../../../durable-objects/store/sql.ts";
import { Database } from "./database.ts";

/** What the simulation throws on purpose. */
export class SimulatedFault extends Error {
  override readonly name = "SimulatedFault";
}

/** The tables whose rows are noted one by one, and their key. */
const FOLLOWED = {
  settings: "name",
  jobs: "id",
  payloads: "job_id",
  results: "job_id",
  outbox: "seq",
  deliveries: "id",
} as const;

export type FollowedTable = keyof typeof FOLLOWED;

/** What may have been written, and not undone. */
export interface Written {
  hasTable(table: string): boolean;
  rowsOf(table: FollowedTable): ReadonlySet<SqlValue>;
}

class Notes implements Written {
  readonly tables = new Set<string>();
  readonly #rows = new Map<string, Set<SqlValue>>();

  hasTable(table: string): boolean {
    return this.tables.has(table);
  }

  rowsOf(table: FollowedTable): Set<SqlValue> {
    const rows = this.#rows.get(table) ?? new Set();
    this.#rows.set(table, rows);
    return rows;
  }
}

/** The table that a statement of this form is about; null for any other statement. */
const tableIn = (form: RegExp): ((query: string) => string | null) => {
  const known = new Map<string, string | null>();
  return (query) => {
    let table = known.get(query);
    if (table === undefined) {
      table = form.exec(query)?.[1] ?? null;
      known.set(query, table);
    }
    return table;
  };
};

const writtenBy = tableIn(/^\s*(?:INSERT\s+(?:OR\s+\w+\s+)?INTO|UPDATE|DELETE\s+FROM)\s+(\w+)/i);

/** What the object's timetable asks of one table, again and again. */
const earliestOf = tableIn(/^\s*SELECT MIN\(.+?\) FROM (\w+)(?: WHERE [^?()]+)?\s*$/i);

/** A database whose tables the object has made, and who hears of its writes. */
interface Plate {
  readonly db: Database;
  heard: (table: string, key: SqlValue) => void;
}

const spare: Plate[] = [];

/** The platform's limits for one statement, here and in D1. */
const MOST_VALUES = 100;
const LONGEST_VALUE = 2_000_000;

export const isWithinLimits = (values: readonly SqlValue[]): boolean =>
  values.length <= MOST_VALUES && !values.some((value) => typeof value === "string" && value.length > LONGEST_VALUE);

export class Disk {
  #plate = spare.pop() ?? null;
  readonly #db = this.#plate?.db ?? new Database();
  #notes = new Notes();
  #isFollowed = false;
  alarmAt: number | null = null;
  /** The size that the platform reports: the real one never comes near the limit. */
  bytes = 0;
  /** Statements that may have written something. */
  writeCount = 0;
  /** Answers about tables that were not written since, by table and query. */
  readonly #earliest = new Map<string, Map<string, Row>>();

  rows(query: string, ...bindings: SqlValue[]): Row[] {
    const asked = bindings.length === 0 ? earliestOf(query) : null;
    if (asked !== null) return [{ ...this.#earliestIn(asked, query) }];
    const table = writtenBy(query);
    if (table !== null) {
      this.writeCount += 1;
      this.#notes.tables.add(table);
      this.#earliest.delete(table);
    }
    return this.#db.rows(query, ...bindings);
  }

  #earliestIn(table: string, query: string): Row {
    const known = this.#earliest.get(table) ?? new Map<string, Row>();
    this.#earliest.set(table, known);
    const row = known.get(query) ?? (this.#db.rows(query)[0] as Row);
    known.set(query, row);
    return row;
  }

  /** What was written since a savepoint is undone. */
  undoTo(savepoint: string): void {
    this.#earliest.clear();
    this.#db.rows(`ROLLBACK TO ${savepoint}`);
    this.#db.rows(`RELEASE ${savepoint}`);
  }

  /** Those with content; the steps of the schema stay. */
  tables(): string[] {
    return this.#db
      .rows(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'schema_steps' AND name NOT LIKE 'sqlite_%'",
      )
      .map(({ name }) => name as string);
  }

  /** Once the tables are there: from now on their written rows are noted. */
  follow(): void {
    if (this.#isFollowed) return;
    this.#isFollowed = true;
    this.#plate ??= newPlate(this.#db);
    this.#plate.heard = (table, key) => this.#notes.rowsOf(table as FollowedTable).add(key);
    this.#db.beginRun();
  }

  /** What may have been written since the last call. */
  takeWritten(): Written {
    const notes = this.#notes;
    this.#notes = new Notes();
    return notes;
  }

  close(): void {
    if (this.#plate === null) return;
    this.#db.endRun();
    spare.push(this.#plate);
  }
}

const newPlate = (db: Database): Plate => {
  const plate: Plate = { db, heard: () => {} };
  db.follow(FOLLOWED, (table, key) => plate.heard(table, key));
  return plate;
};

export type DiskFault = "throw" | "crash";

/** Where it strikes: `again` more times, because a failed commit is repeated turn by turn. */
interface Fault {
  readonly kind: DiskFault;
  readonly statements: number;
  statementsLeft: number;
  again: number;
}

export class DiskHandle implements TenantStorage {
  readonly #disk: Disk;
  #depth = 0;
  #fault: Fault | null = null;
  /** The object has crashed, or another has taken its place: the storage is closed to it. */
  isDead = false;
  /** Transactions that were begun. */
  workCount = 0;
  readonly #onUndone: () => void;

  constructor(disk: Disk, onUndone: () => void) {
    this.#disk = disk;
    Object.defineProperty(this.sql, "databaseSize", { get: () => disk.bytes });
    this.#onUndone = onUndone;
  }

  readonly sql: Sql = {
    exec: (query: string, ...bindings: SqlValue[]): { toArray(): Row[] } => {
      if (this.isDead) throw new SimulatedFault("the object has crashed");
      this.#mayFail();
      if (!isWithinLimits(bindings)) throw new Error("the platform binds no such values");
      const rows = this.#disk.rows(query, ...bindings);
      return { toArray: () => rows };
    },
    databaseSize: 0,
  };

  transactionSync<T>(work: () => T extends Promise<unknown> ? never : T): T {
    if (this.isDead) throw new SimulatedFault("the object has crashed");
    this.#depth += 1;
    this.workCount += 1;
    const name = `level_${this.#depth}`;
    this.#disk.rows(`SAVEPOINT ${name}`);
    try {
      const done = work();
      if (this.isDead) throw new SimulatedFault("the object has crashed");
      this.#disk.rows(`RELEASE ${name}`);
      return done as T;
    } catch (error) {
      this.#disk.undoTo(name);
      this.#onUndone();
      throw error;
    } finally {
      this.#depth -= 1;
    }
  }

  async setAlarm(at: number): Promise<void> {
    if (!this.isDead) this.#disk.alarmAt = at;
  }

  async getAlarm(): Promise<number | null> {
    return this.#disk.alarmAt;
  }

  async deleteAlarm(): Promise<void> {
    if (!this.isDead) this.#disk.alarmAt = null;
  }

  /** Leaves empty tables, as they are when the object has made them again. */
  async deleteAll(): Promise<void> {
    for (const table of this.#disk.tables()) this.sql.exec(`DELETE FROM ${table}`);
  }

  /** Makes a commit fail at its n-th statement from now; every second time also when it is repeated turn by turn. */
  failAfter(statements: number, kind: DiskFault): void {
    this.#fault = { kind, statements, statementsLeft: statements, again: statements % 2 };
  }

  heal(): void {
    this.#fault = null;
  }

  #mayFail(): void {
    const fault = this.#fault;
    if (fault === null || this.#depth === 0) return;
    fault.statementsLeft -= 1;
    if (fault.statementsLeft > 0) return;
    fault.statementsLeft = fault.statements;
    fault.again -= 1;
    if (fault.again < 0) this.#fault = null;
    if (fault.kind === "crash") this.isDead = true;
    throw new SimulatedFault(`a ${fault.kind} in the middle of a turn`);
  }
}
