// A request body too large for a row of the tenant's database: kept in rows of its own until its job has ended.

import { startOf } from "../contract/start-of.ts";
import { all, type Sql } from "./store/sql.ts";

/** Well below the 2 MB limit of a row; characters have up to three bytes. */
const ROW_CHARS = 512 * 1024;

export class HeldBody {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  put(text: string): void {
    this.#sql.exec("CREATE TABLE IF NOT EXISTS body (part INTEGER PRIMARY KEY, text TEXT NOT NULL)");
    for (let part = 0, at = 0; at < text.length; part += 1) {
      // A row cannot hold half a surrogate pair.
      const piece = startOf(text.slice(at, at + ROW_CHARS + 1), ROW_CHARS);
      this.#sql.exec("INSERT OR REPLACE INTO body (part, text) VALUES (?, ?)", part, piece);
      at += piece.length;
    }
  }

  /** null if there is none, or no longer. */
  read(): string | null {
    if (all(this.#sql, "SELECT 1 FROM sqlite_master WHERE name = 'body'").length === 0) return null;
    const rows = all(this.#sql, "SELECT text FROM body ORDER BY part");
    return rows.length === 0 ? null : rows.map((row) => row.text as string).join("");
  }
}
