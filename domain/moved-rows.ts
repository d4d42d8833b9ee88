// Rows of a tenant's tables, on the way to another deployment.

export interface TableRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

type Cell = string | number | null;

export interface TablePage extends TableRows {
  /** The first row of the next page; null after the last page. */
  readonly next: number | null;
}

export const ROWS_A_PAGE = 500;

const sizeOf = (cells: readonly Cell[]): number =>
  cells.reduce<number>((sum, cell) => sum + (typeof cell === "string" ? cell.length : 8), 0);

/**
 * The page that begins at row `from`, made from the at most ROWS_A_PAGE rows found there: at least one row if there is
 * any, and about `maxChars` in total. Columns of `own` are left out.
 */
export const pageOf = (
  found: readonly Readonly<Record<string, Cell>>[],
  from: number,
  maxChars: number,
  own: ReadonlySet<string> = new Set(),
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
  const isLast = rows.length === found.length && found.length < ROWS_A_PAGE;
  return { columns, rows, next: isLast ? null : from + rows.length };
};
