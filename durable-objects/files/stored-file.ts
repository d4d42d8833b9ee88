// The bytes of one file (`<tenant>/file/<id>`): segments, each rows of equal size, so that a range is found without
// reading what is before it. Bytes stream in and out; the object never holds more than a few rows. What was never
// finished, and what is past its end, is deleted by its own alarm, whatever the tenant does. The batches whose input it
// is have their lines and answers here, too (`batch-lines.ts`); those outlive the bytes. Small files lie on a shelf
// (`<tenant>/shelf/<n>`, `shelf.ts`): an object that has one has nothing else.

import { DurableObject } from "cloudflare:workers";
import { NOT_FOUND, OK, PAYLOAD_TOO_LARGE } from "../../contract/words/http-status.ts";
import type { BatchFileKind, LineCursor } from "../../domain/batch/batch.ts";
import type { LineAnswer } from "../../domain/batch/line-answer.ts";
import { isShelved } from "../../domain/file/file.ts";
import { fileName, type Jurisdiction, objectNamed } from "../object-name.ts";
import { callMethod, LINE_URL, openLine } from "../sockets/object-line.ts";
import { all, type Sql, scalar } from "../store/sql.ts";
import { BatchLines, type Learned, type TakenLine } from "./batch-lines.ts";
import { type FileRequest, fileRequestOf, readUrl, type StoredBytes } from "./file-request.ts";
import type { LearnRequest, ReadBytes } from "./line-slice.ts";
import { poured } from "./pour.ts";
import { blobOf, ROW_BYTES, rowsOf, smallBody } from "./rows.ts";
import { Digests, RunningDigests } from "./running-digest.ts";
import { Shelf } from "./shelf.ts";

/** Rows written before the disk is waited for: bounds what is in flight. */
const ROWS_A_SYNC = 8;
const [LINE_FEED, CARRIAGE_RETURN, SPACE] = [0x0a, 0x0d, 0x20];

const NO_BODY = new Uint8Array(new TextEncoder().encode("null"));

interface Segment {
  readonly id: string;
  readonly bytes: number;
}

/** A batch's two files when it is closed. */
export interface ClosedBatch {
  readonly out: Pick<StoredBytes, "bytes" | "sha256">;
  readonly err: Pick<StoredBytes, "bytes" | "sha256">;
}

/** Where the other files of the tenant are. */
export interface FilesHome {
  readonly tenant: string;
  readonly jurisdiction: Jurisdiction | null;
}

/** The file with a batch's lines. */
export interface BatchInput extends FilesHome {
  readonly fileId: string;
}

interface StoredFileEnv {
  readonly FILES: DurableObjectNamespace<StoredFile>;
}

export class StoredFile extends DurableObject<StoredFileEnv> {
  readonly #batches = new BatchLines(this.ctx.storage.sql as unknown as Sql);
  readonly #shelf = new Shelf(this.ctx.storage);
  readonly #digests = new RunningDigests();

  override async fetch(request: Request): Promise<Response> {
    if (request.url === LINE_URL) return openLine(() => ({ answer: (method, args) => callMethod(this, method, args) }));
    const asked = fileRequestOf(request);
    const isOnShelf = asked.view === null && isShelved(asked.id);
    if (request.method === "PUT")
      return isOnShelf ? this.#shelve(asked, request.body) : this.#write(asked, request.body);
    return isOnShelf ? this.#readShelved(asked) : this.#read(asked);
  }

  async #shelve({ id, expiresAt }: FileRequest, body: ReadableStream<Uint8Array> | null): Promise<Response> {
    const bytes = await smallBody(body);
    if (bytes === null) return new Response(null, { status: PAYLOAD_TOO_LARGE });
    return Response.json(await this.#shelf.put(id, bytes, expiresAt));
  }

  #readShelved({ id, from, to }: FileRequest): Response {
    const bytes = this.#shelf.read(id);
    return bytes === null ? new Response(null, { status: NOT_FOUND }) : new Response(bytes.subarray(from, to));
  }

  async keepShelved(id: string, expiresAt: number): Promise<void> {
    await this.#shelf.keep(id, expiresAt);
  }

  async dropShelved(ids: readonly string[]): Promise<void> {
    await this.#shelf.drop(ids);
  }

  /** For a batch, which needs it until then. */
  async lendShelved(id: string, keptUntil: number): Promise<Uint8Array | null> {
    this.#shelf.keepLonger(id, keptUntil);
    return this.#shelf.read(id);
  }

  /** Reads on in the lines of a batch, for which the file is kept until then. */
  async learnBatch(asked: LearnRequest, keptUntil: number, input: BatchInput): Promise<Learned> {
    const read = await this.#input(input, keptUntil);
    if (read === null) return { is: "refused", faults: [] };
    await this.#keepLonger(keptUntil);
    return this.#batches.learn(asked, read);
  }

  async takeLines(
    batch: string,
    model: string,
    cursor: LineCursor | null,
    limit: number,
    input: BatchInput,
  ): Promise<TakenLine[]> {
    const read = await this.#input(input, 0);
    return read === null ? [] : this.#batches.take(batch, model, cursor, limit, read);
  }

  /** A file on a shelf is read from there, whole: it is small. null: it is gone. */
  async #input({ fileId, tenant, jurisdiction }: BatchInput, keptUntil: number): Promise<ReadBytes | null> {
    if (!isShelved(fileId)) return this.#isThere() ? (from, to) => this.#pieces(from, to) : null;
    // The stub's own types wrap every answer a second time.
    const shelf = objectNamed(this.env.FILES, fileName(tenant, fileId), jurisdiction) as unknown as StoredFile;
    const bytes = await shelf.lendShelved(fileId, keptUntil);
    return bytes === null ? null : (from, to) => [bytes.subarray(from, to)];
  }

  /** Answers over 1 MiB are files of their own, which are copied here first. */
  async recordLines(batch: string, answers: readonly LineAnswer[], home: FilesHome): Promise<void> {
    for (const { line, resultFile } of answers)
      if (resultFile !== null && this.#batches.awaits(batch, line)) await this.#copyBody(batch, line, resultFile, home);
    this.#batches.record(batch, answers);
  }

  async #copyBody(
    batch: string,
    line: number,
    { id, bytes }: NonNullable<LineAnswer["resultFile"]>,
    { tenant, jurisdiction }: FilesHome,
  ): Promise<void> {
    const file = objectNamed(this.env.FILES, fileName(tenant, id), jurisdiction);
    const { status, body } = await file.fetch(readUrl({ id, from: 0, to: bytes, view: null }));
    if (status !== OK || body === null) {
      // Somebody deleted it.
      if (status === NOT_FOUND) return this.#batches.putPiece(batch, line, 0, blobOf(NO_BODY));
      throw new Error(`the object of the file ${id} answered ${status}`);
    }
    let n = 0;
    for await (const row of rowsOf(body)) {
      // In JSON they are only space between tokens, and here a line ends with them.
      for (const end of [LINE_FEED, CARRIAGE_RETURN])
        for (let at = row.indexOf(end); at !== -1; at = row.indexOf(end, at + 1)) row[at] = SPACE;
      this.#batches.putPiece(batch, line, n, blobOf(row));
      n += 1;
    }
  }

  /**
   * No line gets an answer any more. Null: there is more to do, ask again. Repeating it gives the same files, which are
   * kept until then.
   */
  async closeBatch(
    batch: string,
    ending: "completed" | "cancelled" | "expired",
    expiresAt: number,
  ): Promise<ClosedBatch | null> {
    if (!this.#batches.close(batch, ending)) return null;
    if (this.#batches.hasAny) await this.#keepLonger(expiresAt);
    const { output, errors } = this.#batches.sizes(batch);
    const out = await this.#summed(batch, "out", output);
    const err = out === null ? null : await this.#summed(batch, "err", errors);
    return out === null || err === null ? null : { out, err };
  }

  async #summed(batch: string, kind: BatchFileKind, bytes: number): Promise<ClosedBatch["out"] | null> {
    const read = (from: number, to: number) => this.#batches.view(batch, kind, from, to);
    const found = await this.#digests.step(`${batch}/${kind}`, bytes, read);
    return found === null ? null : { bytes, sha256: found.sha256 };
  }

  /** One of a batch's files is gone. */
  async dropView(batch: string, kind: BatchFileKind): Promise<void> {
    this.#batches.drop(batch, kind);
    await this.#endIfEmpty();
  }

  async forgetBatch(batch: string): Promise<void> {
    this.#batches.forget(batch);
    await this.#endIfEmpty();
  }

  async #endIfEmpty(): Promise<void> {
    if (this.#batches.hasAny || (this.#isThere() && this.#segments().length > 0)) return;
    await this.end();
  }

  /** Replaces the segment: a repeated upload of a part counts once. */
  async #write(asked: FileRequest, body: ReadableStream<Uint8Array> | null): Promise<Response> {
    const { segment, maxBytes, maxTotalBytes, expiresAt } = asked;
    this.#createTables();
    await this.ctx.storage.setAlarm(expiresAt);
    this.#removeSegment(segment);
    const others = scalar(this.ctx.storage.sql, "SELECT SUM(bytes) FROM segments") ?? 0;
    const digests = new Digests();
    try {
      const bytes = await this.#writeRows(segment, Math.min(maxBytes, maxTotalBytes - others), digests, body);
      const position = (scalar(this.ctx.storage.sql, "SELECT MAX(position) FROM segments") ?? 0) + 1;
      this.ctx.storage.sql.exec(
        "INSERT INTO segments (id, position, bytes) VALUES (?, ?, ?)",
        segment,
        position,
        bytes,
      );
      return Response.json({ bytes, ...(await digests.end()) } satisfies StoredBytes);
    } catch (error) {
      digests.abandon(error);
      // It was dropped meanwhile: nobody waits for an answer.
      if (!this.#isThere()) return new Response(null, { status: NOT_FOUND });
      this.#removeSegment(segment);
      if (error instanceof TooLarge) return new Response(null, { status: PAYLOAD_TOO_LARGE });
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
      this.ctx.storage.sql.exec(query, segment, written, blobOf(row));
      written += 1;
      if (written % ROWS_A_SYNC === 0) await this.ctx.storage.sync();
    }
    return total;
  }

  #read({ from, to, view }: FileRequest): Response {
    const isThere = view === null ? this.#isThere() : this.#batches.hasAny;
    if (!isThere) return new Response(null, { status: NOT_FOUND });
    const pieces = view === null ? this.#pieces(from, to) : this.#batches.view(view.batch, view.form, from, to);
    const { body, done } = poured(pieces);
    // A reader that leaves is no fault.
    this.ctx.waitUntil(done.catch(() => undefined));
    return new Response(body);
  }

  /** The bytes from `from` up to and without `to`, a row at a time; each is gone when the next one is asked for. */
  *#pieces(from: number, to: number): Generator<Uint8Array> {
    let begin = 0;
    for (const { id, bytes } of this.#segments()) {
      const first = Math.max(0, Math.floor((from - begin) / ROW_BYTES));
      for (let n = first; begin + n * ROW_BYTES < Math.min(to, begin + bytes); n += 1) {
        const rowAt = begin + n * ROW_BYTES;
        const [row] = all(this.ctx.storage.sql, "SELECT bytes FROM rows_of WHERE segment = ? AND n = ?", id, n);
        // The file ended while it was read: the answer breaks off, so that it does not look whole.
        if (row === undefined) throw new Error("the file has ended");
        const stored = row.bytes as unknown as ArrayBuffer;
        const cut = new Uint8Array(stored).subarray(Math.max(0, from - rowAt), Math.max(0, to - rowAt));
        if (cut.byteLength > 0) yield cut;
        // Given back at once: at full speed the garbage collector would let as much stand as the file has.
        stored.transfer(0);
      }
      begin += bytes;
    }
  }

  /** Keeps it until then. */
  async keep(expiresAt: number): Promise<void> {
    if (this.#isThere()) await this.ctx.storage.setAlarm(expiresAt);
  }

  async #keepLonger(expiresAt: number): Promise<void> {
    await this.ctx.storage.setAlarm(Math.max(expiresAt, (await this.ctx.storage.getAlarm()) ?? 0));
  }

  /**
   * The segments in this order are the file, and no other. Answers the bytes that they have; with other than `bytes`
   * nothing changes. Null if one of them is missing; `more`: ask again.
   */
  async assemble(
    ids: readonly string[],
    bytes: number,
    expiresAt: number,
  ): Promise<StoredBytes | number | "more" | null> {
    if (!this.#isThere()) return null;
    const known = new Map(this.#segments().map((one) => [one.id, one.bytes]));
    if (new Set(ids).size !== ids.length || !ids.every((id) => known.has(id))) return null;
    const sum = ids.reduce((all, id) => all + (known.get(id) ?? 0), 0);
    if (sum !== bytes) return sum;
    if (ids.join() !== [...known.keys()].join()) this.#order(ids, known);
    await this.ctx.storage.setAlarm(expiresAt);
    return (await this.#digests.step(ids.join(), bytes, (from, to) => this.#pieces(from, to))) ?? "more";
  }

  #order(ids: readonly string[], known: ReadonlyMap<string, number>): void {
    for (const id of known.keys()) if (!ids.includes(id)) this.#removeSegment(id);
    for (const [position, id] of ids.entries())
      this.ctx.storage.sql.exec("UPDATE segments SET position = ? WHERE id = ?", position + 1, id);
  }

  /** Deletes the bytes. What batches made of them stays until their files are dropped. */
  async drop(): Promise<void> {
    if (this.#isThere() && this.#batches.hasAny) {
      for (const { id } of this.#segments()) this.#removeSegment(id);
      return;
    }
    await this.end();
  }

  /** Its tenant ends: nothing is left, of batches neither. */
  async end(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  override async alarm(): Promise<void> {
    if (this.#shelf.isThere()) await this.#shelf.dropEnded(Date.now());
    else await this.ctx.storage.deleteAll();
  }

  /** An object that never stored anything has no table, and gets none by being asked. */
  #isThere(): boolean {
    return all(this.ctx.storage.sql, "SELECT 1 FROM sqlite_master WHERE name = 'segments'").length > 0;
  }

  #createTables(): void {
    const { sql } = this.ctx.storage;
    sql.exec(
      "CREATE TABLE IF NOT EXISTS segments (id TEXT PRIMARY KEY, position INTEGER NOT NULL, bytes INTEGER NOT NULL)",
    );
    sql.exec(
      "CREATE TABLE IF NOT EXISTS rows_of (segment TEXT NOT NULL, n INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (segment, n))",
    );
  }

  #segments(): Segment[] {
    return all(this.ctx.storage.sql, "SELECT id, bytes FROM segments ORDER BY position").map((row) => ({
      id: row.id as string,
      bytes: row.bytes as number,
    }));
  }

  #removeSegment(id: string): void {
    const { sql } = this.ctx.storage;
    sql.exec("DELETE FROM segments WHERE id = ?", id);
    sql.exec("DELETE FROM rows_of WHERE segment = ?", id);
  }
}

class TooLarge extends Error {}
