// Request bodies too large for a row of the tenant's database, until their jobs have ended. A few objects of a tenant
// share them (`bodyName`): each object is a file on the disk of a server, and an emptied one stays there.

import { startOf } from "../../contract/text/start-of.ts";
import { all, type Sql, scalar } from "../store/sql.ts";

/** Well below the 2 MB limit of a row; characters have up to three bytes. */
const ROW_CHARS = 512 * 1024;

export class HeldBodies {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  put(jobId: string, text: string, nowAt: number): void {
    this.#sql.exec(
      "CREATE TABLE IF NOT EXISTS bodies (job_id TEXT NOT NULL, part INTEGER NOT NULL, held_at INTEGER NOT NULL, text TEXT NOT NULL)",
    );
    this.#sql.exec("CREATE INDEX IF NOT EXISTS bodies_of ON bodies (job_id, part)");
    this.drop(jobId);
    for (let part = 0, at = 0; at < text.length; part += 1) {
      // A row cannot hold half a surrogate pair.
      const piece = startOf(text.slice(at, at + ROW_CHARS + 1), ROW_CHARS);
      const insert = "INSERT INTO bodies (job_id, part, held_at, text) VALUES (?, ?, ?, ?)";
      this.#sql.exec(insert, jobId, part, nowAt, piece);
      at += piece.length;
    }
  }

  /** null if there is none, or no longer. */
  read(jobId: string): string | null {
    if (!this.#hasTable()) return null;
    const rows = all(this.#sql, "SELECT text FROM bodies WHERE job_id = ? ORDER BY part", jobId);
    return rows.length === 0 ? null : rows.map((row) => row.text as string).join("");
  }

  drop(jobId: string): void {
    if (this.#hasTable()) this.#sql.exec("DELETE FROM bodies WHERE job_id = ?", jobId);
  }

  dropHeldUntil(at: number): void {
    if (this.#hasTable()) this.#sql.exec("DELETE FROM bodies WHERE held_at <= ?", at);
  }

  /** When the oldest came; null if there are none. */
  oldestAt(): number | null {
    return this.#hasTable() ? scalar(this.#sql, "SELECT MIN(held_at) FROM bodies") : null;
  }

  #hasTable(): boolean {
    return all(this.#sql, "SELECT 1 FROM sqlite_master WHERE name = 'bodies'").length > 0;
  }
}
