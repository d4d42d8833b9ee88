// The storage of one object on node:sqlite. Each life of the object has a handle of its own, which its end closes.

import { Database, type Row, type SqlValue } from "../../../test/simulation/database.ts";

/** Longer delays overflow a timer. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** What outlives the object. */
export class Disk {
  db = new Database();
  alarmAt: number | null = null;
  #timer: NodeJS.Timeout | null = null;
  readonly #ring: () => void;

  constructor(ring: () => void) {
    this.#ring = ring;
  }

  setAlarm(at: number | null): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.alarmAt = at;
    if (at === null) return;
    this.#timer = setTimeout(this.#ring, Math.min(Math.max(0, at - Date.now()), LONGEST_DELAY_MS));
  }
}

class Cursor {
  readonly #rows: readonly Row[];

  constructor(rows: readonly Row[]) {
    this.#rows = rows;
  }

  toArray(): readonly Row[] {
    return this.#rows;
  }

  one(): Row {
    const [row] = this.#rows;
    if (row === undefined || this.#rows.length > 1) throw new Error(`${this.#rows.length} rows, not one`);
    return row;
  }

  [Symbol.iterator](): Iterator<Row> {
    return this.#rows[Symbol.iterator]();
  }
}

export class Storage {
  readonly #disk: Disk;
  #depth = 0;
  isClosed = false;

  constructor(disk: Disk) {
    this.#disk = disk;
    const databaseSize = () =>
      this.#rows("SELECT page_count * page_size AS size FROM pragma_page_count, pragma_page_size")[0]?.size;
    Object.defineProperty(this.sql, "databaseSize", { get: databaseSize });
  }

  readonly sql = { exec: (query: string, ...bindings: SqlValue[]) => new Cursor(this.#rows(query, ...bindings)) };

  #rows(query: string, ...bindings: SqlValue[]): Row[] {
    if (this.isClosed) throw new Error("the object has ended");
    return this.#disk.db.rows(query, ...bindings);
  }

  transactionSync<T>(work: () => T): T {
    this.#depth += 1;
    const level = `level_${this.#depth}`;
    this.#rows(`SAVEPOINT ${level}`);
    try {
      return work();
    } catch (error) {
      this.#disk.db.rows(`ROLLBACK TO ${level}`);
      throw error;
    } finally {
      this.#disk.db.rows(`RELEASE ${level}`);
      this.#depth -= 1;
    }
  }

  async getAlarm(): Promise<number | null> {
    return this.#disk.alarmAt;
  }

  async setAlarm(at: number | Date): Promise<void> {
    if (!this.isClosed) this.#disk.setAlarm(Number(at));
  }

  async deleteAlarm(): Promise<void> {
    if (!this.isClosed) this.#disk.setAlarm(null);
  }

  /** The platform deletes the alarm, too. */
  async deleteAll(): Promise<void> {
    this.#disk.setAlarm(null);
    this.#disk.db = new Database();
  }
}
