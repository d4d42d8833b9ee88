// How many records a table has, and their characters: added up when first asked for, then kept with each change, because
// to read megabytes of records for each new one takes long.

import { first, type Sql } from "./sql.ts";

export class RecordSums {
  readonly #sql: Sql;
  readonly #table: string;
  readonly #key: string;
  #rows = 0;
  /** Null: to be added up. */
  #chars: number | null = null;

  constructor(sql: Sql, table: string, key: string) {
    this.#sql = sql;
    this.#table = table;
    this.#key = key;
  }

  forget(): void {
    this.#chars = null;
  }

  /** Whether both are fewer. */
  areBelow(rows: number, chars: number): boolean {
    if (this.#chars === null) [this.#rows, this.#chars] = this.#read("");
    return this.#rows < rows && this.#chars < chars;
  }

  /** `write` changes the record of this name alone. */
  change(name: string, write: () => void): void {
    const [rows, chars] = this.#of(name);
    write();
    if (this.#chars === null) return;
    const [rowsNow, charsNow] = this.#of(name);
    this.#rows += rowsNow - rows;
    this.#chars += charsNow - chars;
  }

  #of(name: string): [number, number] {
    return this.#chars === null ? [0, 0] : this.#read(`WHERE ${this.#key} = ?`, name);
  }

  #read(which: string, ...names: string[]): [number, number] {
    const query = `SELECT COUNT(*) AS rows, SUM(LENGTH(record)) AS chars FROM ${this.#table} ${which}`;
    const row = first(this.#sql, query, ...names);
    return [Number(row?.rows), Number(row?.chars)];
  }
}
