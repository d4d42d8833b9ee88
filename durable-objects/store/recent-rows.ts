// Rows of the outbox that were written a moment ago, kept in memory because they leave soon after they came: those that
// fit, so there may be gaps. A rollback clears it.

/** About ten thousand jobs. */
export const RECENT_CHARS = 12_000_000;

interface SizedRow {
  readonly seq: number;
  readonly chars: number;
}

export class RecentRows<Row extends SizedRow> {
  readonly #rows = new Map<number, Row>();
  #chars = 0;

  get(seq: number): Row | undefined {
    return this.#rows.get(seq);
  }

  /** The rows after one, up to the first that is not here. */
  after(seq: number): Row[] {
    const rows: Row[] = [];
    for (let row = this.#rows.get(seq + 1); row !== undefined; row = this.#rows.get(row.seq + 1)) rows.push(row);
    return rows;
  }

  keep(row: Row): void {
    if (this.#chars + row.chars > RECENT_CHARS) return;
    this.#rows.set(row.seq, row);
    this.#chars += row.chars;
  }

  dropUpTo(seq: number): void {
    for (const [known, { chars }] of this.#rows) {
      if (known > seq) break;
      this.#rows.delete(known);
      this.#chars -= chars;
    }
  }

  clear(): void {
    this.#rows.clear();
    this.#chars = 0;
  }
}
