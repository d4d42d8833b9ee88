// The bytes of one file: segments, each rows of equal size, so that a range is found without reading what is before it.
// Bytes stream in and out; no more than a few rows are held at a time.

import { MAX_PARTS } from "../../domain/file/file.ts";
import { all, first, hasTable, type Sql, scalar } from "../store/sql.ts";
import type { FileRequest, StoredBytes } from "./file-request.ts";
import { blobOf, ROW_BYTES, rowsOf } from "./rows.ts";
import { Digests } from "./running-digest.ts";

/** Rows written before the disk is waited for: bounds what is in flight. */
const ROWS_A_SYNC = 8;

interface Segment {
  readonly id: string;
  readonly bytes: number;
}

export class Segments {
  readonly #storage: DurableObjectStorage;
  readonly #sql: Sql;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#sql = storage.sql;
  }

  isThere(): boolean {
    return hasTable(this.#sql, "segments");
  }

  hasAny(): boolean {
    return this.isThere() && this.#list().length > 0;
  }

  /** Replaces the segment: a repeated upload of a part counts once. null: there is more than it may have. */
  async write(
    { segment, maxBytes, maxTotalBytes }: FileRequest,
    body: ReadableStream<Uint8Array> | null,
  ): Promise<StoredBytes | "dropped" | null> {
    this.#createTables();
    this.#remove(segment);
    const others = first(this.#sql, "SELECT COUNT(*) AS count, COALESCE(SUM(bytes), 0) AS bytes FROM segments");
    if ((others?.count as number) >= MAX_PARTS) return null;
    const digests = new Digests();
    try {
      const bytes = await this.#writeRows(
        segment,
        Math.min(maxBytes, maxTotalBytes - (others?.bytes as number)),
        digests,
        body,
      );
      const position = (scalar(this.#sql, "SELECT MAX(position) FROM segments") ?? 0) + 1;
      this.#sql.exec("INSERT INTO segments (id, position, bytes) VALUES (?, ?, ?)", segment, position, bytes);
      return { bytes, ...(await digests.end()) };
    } catch (error) {
      digests.abandon(error);
      if (!this.isThere()) return "dropped";
      this.#remove(segment);
      if (error instanceof TooLarge) return null;
      throw error;
    }
  }

  async #writeRows(
    segment: string,
    maxBytes: number,
    digests: Digests,
    body: ReadableStream<Uint8Array> | null,
  ): Promise<number> {
    let [written, total] = [0, 0];
    const query = "INSERT INTO rows_of (segment, n, bytes) VALUES (?, ?, ?)";
    for await (const row of body === null ? [] : rowsOf(body)) {
      total += row.byteLength;
      if (total > maxBytes) throw new TooLarge();
      await digests.add(row);
      this.#sql.exec(query, segment, written, blobOf(row));
      written += 1;
      if (written % ROWS_A_SYNC === 0) await this.#storage.sync();
    }
    return total;
  }

  /** The bytes from `from` up to and without `to`, a row at a time; each is gone when the next one is asked for. */
  *pieces(from: number, to: number): Generator<Uint8Array> {
    let begin = 0;
    for (const { id, bytes } of this.#list()) {
      const first = Math.max(0, Math.floor((from - begin) / ROW_BYTES));
      for (let n = first; begin + n * ROW_BYTES < Math.min(to, begin + bytes); n += 1) {
        const rowAt = begin + n * ROW_BYTES;
        const query = "SELECT bytes FROM rows_of WHERE segment = ? AND n = ?";
        const [row] = this.isThere() ? all<{ bytes: ArrayBuffer }>(this.#sql, query, id, n) : [];
        // The file ended while it was read: the answer breaks off, so that it does not look whole.
        if (row === undefined) throw new Error("the file has ended");
        const cut = new Uint8Array(row.bytes).subarray(Math.max(0, from - rowAt), Math.max(0, to - rowAt));
        try {
          if (cut.byteLength > 0) yield cut;
        } finally {
          // Frees the memory at once, also when the reader leaves: the garbage collector would come too late for it.
          row.bytes.transfer(0);
        }
      }
      begin += bytes;
    }
  }

  /** The segments in this order are the file, and no other: removes those. Otherwise as `assemble` answers. */
  putInOrder(ids: readonly string[], bytes: number): "whole" | number | null {
    if (!this.isThere()) return null;
    const known = new Map(this.#list().map((one) => [one.id, one.bytes]));
    if (new Set(ids).size !== ids.length || !ids.every((id) => known.has(id))) return null;
    const sum = ids.reduce((all, id) => all + (known.get(id) ?? 0), 0);
    if (sum !== bytes) return sum;
    if (ids.join() !== [...known.keys()].join()) this.#order(ids, known);
    return "whole";
  }

  #order(ids: readonly string[], known: ReadonlyMap<string, number>): void {
    const named = new Set(ids);
    for (const id of known.keys()) if (!named.has(id)) this.#remove(id);
    for (const [position, id] of ids.entries())
      this.#sql.exec("UPDATE segments SET position = ? WHERE id = ?", position + 1, id);
  }

  removeAll(): void {
    for (const { id } of this.#list()) this.#remove(id);
  }

  #remove(id: string): void {
    this.#sql.exec("DELETE FROM segments WHERE id = ?", id);
    this.#sql.exec("DELETE FROM rows_of WHERE segment = ?", id);
  }

  #list(): Segment[] {
    return all(this.#sql, "SELECT id, bytes FROM segments ORDER BY position");
  }

  #createTables(): void {
    this.#sql.exec(
      "CREATE TABLE IF NOT EXISTS segments (id TEXT PRIMARY KEY, position INTEGER NOT NULL, bytes INTEGER NOT NULL)",
    );
    this.#sql.exec(
      "CREATE TABLE IF NOT EXISTS rows_of (segment TEXT NOT NULL, n INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (segment, n))",
    );
  }
}

class TooLarge extends Error {}
