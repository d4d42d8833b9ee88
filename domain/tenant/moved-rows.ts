// Rows of a tenant's tables, on the way to another deployment. A page begins after the last row of the one before, in the
// order of the table's key: rows that come or go meanwhile shift no page.

export interface TableRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

export type Cell = string | number | null;

export interface TablePage extends TableRows {
  /** The key of the page's last row, after which the next page begins; null after the last page. */
  readonly next: readonly Cell[] | null;
}

/** What to read: a table's rows after a key, in the order of its key's columns. */
export interface PageRequest {
  readonly table: string;
  /** Null: from the first row. */
  readonly after: readonly Cell[] | null;
  readonly maxChars: number;
}

export const ROWS_A_PAGE = 500;

/** The condition for rows after a key, and the values that it binds; null if the key is not one of this table. */
export const rowsAfter = (
  keys: readonly string[],
  after: PageRequest["after"],
): { readonly condition: string; readonly values: readonly Cell[] } | null => {
  if (after === null) return { condition: "true", values: [] };
  if (after.length !== keys.length) return null;
  return { condition: `(${keys.join(", ")}) > (${keys.map(() => "?").join(", ")})`, values: after };
};

const sizeOf = (cells: readonly Cell[]): number =>
  cells.reduce<number>((sum, cell) => sum + (typeof cell === "string" ? cell.length : 8), 0);

interface Shape {
  readonly keys: readonly string[];
  readonly maxChars: number;
  /** Columns whose values are only valid in their own deployment: left out. */
  readonly own?: ReadonlySet<string>;
}

/**
 * The page of the at most ROWS_A_PAGE rows that were found: at least one row if there is any, and about `maxChars` in
 * total.
 */
export const pageOf = (
  found: readonly Readonly<Record<string, Cell>>[],
  { keys, maxChars, own = new Set() }: Shape,
): TablePage => {
  const columns = Object.keys(found[0] ?? {}).filter((column) => !own.has(column));
  const rows: Cell[][] = [];
  let chars = 0;
  for (const row of found) {
    const cells = columns.map((column) => row[column] ?? null);
    if (rows.length > 0 && chars + sizeOf(cells) > maxChars) break;
    rows.push(cells);
    chars += sizeOf(cells);
  }
  const last = found[rows.length - 1];
  const isLast = last === undefined || (rows.length === found.length && found.length < ROWS_A_PAGE);
  return { columns, rows, next: isLast ? null : keys.map((key) => last[key] ?? null) };
};
