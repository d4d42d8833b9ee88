// The object's storage on node:sqlite: committed data survives every crash, including the alarm. A handle belongs to
// one life of the object; afterwards it neither reads nor writes.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Row, SqlValue, TenantStorage } from "../../durable-objects/store/sql.ts";

/** What the simulation throws on purpose. */
export class SimulatedFault extends Error {
  override readonly name = "SimulatedFault";
}

interface Prepared {
  readonly statement: StatementSync;
  /** The table that it writes; null if it only reads. */
  readonly writes: string | null;
}

const WRITE = /^\s*(?:INSERT\s+(?:OR\s+\w+\s+)?INTO|UPDATE|DELETE\s+FROM)\s+(\w+)/i;

export class Disk {
  readonly #db = new DatabaseSync(":memory:");
  readonly #statements = new Map<string, Prepared>();
  #written = new Set<string>();
  alarmAt: number | null = null;
  /** Statements that may have written something. */
  writeCount = 0;

  rows(query: string, ...bindings: SqlValue[]): Row[] {
    let prepared = this.#statements.get(query);
    if (prepared === undefined) {
      prepared = { statement: this.#db.prepare(query), writes: WRITE.exec(query)?.[1] ?? null };
      this.#statements.set(query, prepared);
    }
    if (prepared.writes !== null) {
      this.writeCount += 1;
      this.#written.add(prepared.writes);
    }
    return prepared.statement.all(...bindings) as Row[];
  }

  /** The tables that may have been written since the last call. */
  takeWritten(): ReadonlySet<string> {
    const written = this.#written;
    this.#written = new Set();
    return written;
  }

  close(): void {
    this.#db.close();
  }
}

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
  isDead = false;
  /** Transactions that were begun. */
  workCount = 0;
  readonly #onUndone: () => void;

  constructor(disk: Disk, onUndone: () => void) {
    this.#disk = disk;
    this.#onUndone = onUndone;
  }

  readonly sql = {
    exec: (query: string, ...bindings: SqlValue[]): { toArray(): Row[] } => {
      if (this.isDead) throw new SimulatedFault("the object has crashed");
      this.#mayFail();
      const rows = this.#disk.rows(query, ...bindings);
      return { toArray: () => rows };
    },
    databaseSize: 0,
  };

  transactionSync<T>(work: () => T extends Promise<unknown> ? never : T): T {
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
      this.#disk.rows(`ROLLBACK TO ${name}`);
      this.#disk.rows(`RELEASE ${name}`);
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
