// The small port to SQLite that a Durable Object's storage and node:sqlite both satisfy. Values are null, number or
// string, in files also bytes; the types exclude booleans and undefined, which would be stored as something else.

export type SqlValue = string | number | null;
export type Row = Record<string, SqlValue>;

export interface Sql {
  /** Runs one statement; `toArray` reads all of its rows at once, so that no cursor outlives a turn. */
  exec(query: string, ...bindings: (SqlValue | ArrayBuffer)[]): { toArray(): Row[]; readonly rowsWritten?: number };
  /** Bytes in use. */
  readonly databaseSize: number;
}

/** Storage of one tenant. The callback must be synchronous: a promise would commit what a rejection should undo. */
export interface TenantStorage {
  readonly sql: Sql;
  transactionSync<T>(work: () => T extends Promise<unknown> ? never : T): T;
}

/** Rows and index entries that were written since the object woke, which is what Cloudflare charges for. */
export interface Written {
  object: number;
  history: number;
}

/** The same SQL, adding up what it writes. */
export const countedSql = (sql: Sql, written: Written): Sql => ({
  exec: (query, ...bindings) => {
    const cursor = sql.exec(query, ...bindings);
    written.object += cursor.rowsWritten ?? 0;
    return cursor;
  },
  get databaseSize() {
    return sql.databaseSize;
  },
});

/** `R` is a row as the statement names its columns. */
export const all = <R = Row>(sql: Sql, query: string, ...bindings: SqlValue[]): R[] =>
  sql.exec(query, ...bindings).toArray() as R[];

export const first = <R = Row>(sql: Sql, query: string, ...bindings: SqlValue[]): R | null =>
  all<R>(sql, query, ...bindings)[0] ?? null;

/** Whether the database has a table: an object that never stored anything has none, and gets none by being asked. */
export const hasTable = (sql: Sql, name: string): boolean =>
  first(sql, "SELECT 1 FROM sqlite_master WHERE name = ?", name) !== null;

/** The only column of each row. */
export const cells = <Cell extends SqlValue = string>(sql: Sql, query: string, ...bindings: SqlValue[]): Cell[] =>
  all(sql, query, ...bindings).map((row) => Object.values(row)[0] as Cell);

/** One number from one row; null if there is no row or no value. */
export const scalar = (sql: Sql, query: string, ...bindings: SqlValue[]): number | null => {
  const [value] = cells<SqlValue>(sql, query, ...bindings);
  return typeof value === "number" ? value : null;
};

/** The only column of each row, which is JSON. */
export const records = <T>(sql: Sql, query: string, ...bindings: SqlValue[]): T[] =>
  cells(sql, query, ...bindings).map((text) => JSON.parse(text));

export const record = <T>(sql: Sql, query: string, ...bindings: SqlValue[]): T | null =>
  records<T>(sql, query, ...bindings)[0] ?? null;

/** Writes a row, in the place of the one with its key. */
export const put = (sql: Sql, table: string, row: Row): void => {
  const places = Object.keys(row).map(() => "?");
  sql.exec(`INSERT OR REPLACE INTO ${table} (${Object.keys(row)}) VALUES (${places})`, ...Object.values(row));
};
