// Request bodies too large for a row of the tenant's database, until their jobs have ended. A few objects of a tenant
// share them (`bodyName`): each object is a file on the disk of a server, and an emptied one stays there.

import { startOf } from "../../contract/text/start-of.ts";
import { DAY_MS } from "../../domain/words/duration.ts";
import { cells, hasTable, type Sql, scalar } from "../store/sql.ts";

/** Well below the 2 MB limit of a row; characters have up to three bytes. */
const ROW_CHARS = 512 * 1024;
/**
 * Those of jobs that never ended here: their request was lost, or their tenant. One in the background may wait as long.
 */
const HELD_MS = 30 * DAY_MS;

/** The object's storage is theirs alone. */
export class HeldBodies {
  readonly #storage: DurableObjectStorage;
  readonly #sql: Sql;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#sql = storage.sql;
  }

  async hold(jobId: string, text: string, nowAt: number): Promise<void> {
    this.#put(jobId, text, nowAt);
    await this.#wakeForOldest();
  }

  async drop(jobId: string): Promise<void> {
    this.#delete(jobId);
    await this.#wakeForOldest();
  }

  /** The object's alarm. */
  async dropOld(nowAt: number): Promise<void> {
    if (this.#hasTable()) this.#sql.exec("DELETE FROM bodies WHERE held_at <= ?", nowAt - HELD_MS);
    await this.#wakeForOldest();
  }

  #put(jobId: string, text: string, nowAt: number): void {
    this.#sql.exec(
      "CREATE TABLE IF NOT EXISTS bodies (job_id TEXT NOT NULL, part INTEGER NOT NULL, held_at INTEGER NOT NULL, text TEXT NOT NULL)",
    );
    this.#sql.exec("CREATE INDEX IF NOT EXISTS bodies_of ON bodies (job_id, part)");
    this.#delete(jobId);
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
    const parts = cells(this.#sql, "SELECT text FROM bodies WHERE job_id = ? ORDER BY part", jobId);
    return parts.length === 0 ? null : parts.join("");
  }

  #delete(jobId: string): void {
    if (this.#hasTable()) this.#sql.exec("DELETE FROM bodies WHERE job_id = ?", jobId);
  }

  /** Without bodies the object has no storage. */
  async #wakeForOldest(): Promise<void> {
    const oldestAt: number | null = this.#hasTable() ? scalar(this.#sql, "SELECT MIN(held_at) FROM bodies") : null;
    if (oldestAt === null) await this.#storage.deleteAll();
    else await this.#storage.setAlarm(oldestAt + HELD_MS);
  }

  #hasTable(): boolean {
    return hasTable(this.#sql, "bodies");
  }
}
