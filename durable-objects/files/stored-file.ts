// One file (`<tenant>/file/<id>`): its bytes (`segments.ts`), and the lines and answers of the batches whose input it is
// (`batch-lines.ts`); those outlive the bytes. Small files lie on a shelf (`<tenant>/shelf/<n>`, `shelf.ts`): an object
// that has one has nothing else. What was never finished, and what is past its end, is deleted by the object's own
// alarm, whatever the tenant does.

import { DurableObject } from "cloudflare:workers";
import { NOT_FOUND, OK, PAYLOAD_TOO_LARGE } from "../../contract/words/http-status.ts";
import type { BatchEnding, BatchFileKind, LineCursor, TakenLine } from "../../domain/batch/batch.ts";
import type { LineAnswer } from "../../domain/batch/line-answer.ts";
import { isShelved } from "../../domain/file/file.ts";
import { fileName, type Jurisdiction, objectNamed } from "../object-name.ts";
import { callMethod, LINE_URL, openLine } from "../sockets/object-line.ts";
import type { Sql } from "../store/sql.ts";
import { BatchLines, type Learned } from "./batch-lines.ts";
import { type FileRequest, fileRequestOf, readUrl, type StoredBytes } from "./file-request.ts";
import type { LearnRequest, ReadBytes } from "./line-slice.ts";
import { poured } from "./pour.ts";
import { blobOf, rowsOf, smallBody } from "./rows.ts";
import { RunningDigests } from "./running-digest.ts";
import { Segments } from "./segments.ts";
import { Shelf } from "./shelf.ts";

const [LINE_FEED, CARRIAGE_RETURN, SPACE] = [0x0a, 0x0d, 0x20];

const NO_BODY = new Uint8Array(new TextEncoder().encode("null"));

/** A batch's two files when it is closed. */
interface ClosedBatch {
  readonly out: Pick<StoredBytes, "bytes" | "sha256">;
  readonly err: Pick<StoredBytes, "bytes" | "sha256">;
}

/** Where the other files of the tenant are. */
export interface FilesHome {
  readonly tenant: string;
  readonly jurisdiction: Jurisdiction | null;
}

/** The file with a batch's lines. */
interface BatchInput extends FilesHome {
  readonly fileId: string;
}

interface StoredFileEnv {
  readonly FILES: DurableObjectNamespace<StoredFile>;
}

export class StoredFile extends DurableObject<StoredFileEnv> {
  readonly #batches = new BatchLines(this.ctx.storage.sql as unknown as Sql);
  readonly #shelf = new Shelf(this.ctx.storage);
  readonly #segments = new Segments(this.ctx.storage);
  readonly #digests = new RunningDigests();

  override async fetch(request: Request): Promise<Response> {
    if (request.url === LINE_URL) return openLine(() => ({ answer: (method, args) => callMethod(this, method, args) }));
    const asked = fileRequestOf(request);
    const isOnShelf = asked.view === null && isShelved(asked.id);
    if (request.method === "PUT")
      return isOnShelf ? this.#shelve(asked, request.body) : this.#write(asked, request.body);
    return isOnShelf ? this.#readShelved(asked) : this.#read(asked);
  }

  async #shelve(asked: FileRequest, body: ReadableStream<Uint8Array> | null): Promise<Response> {
    const bytes = await smallBody(body);
    const stored = bytes === null ? null : await this.#shelf.store(asked, bytes);
    return stored === null ? new Response(null, { status: PAYLOAD_TOO_LARGE }) : Response.json(stored);
  }

  assembleShelved(id: string, ...asked: Parameters<StoredFile["assemble"]>): Promise<StoredBytes | number | null> {
    return this.#shelf.assemble(id, ...asked);
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
    if (!isShelved(fileId)) return this.#segments.isThere() ? (from, to) => this.#segments.pieces(from, to) : null;
    const shelf = objectNamed<StoredFile>(this.env.FILES, fileName(tenant, fileId), jurisdiction);
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
    const file = objectNamed<Fetcher>(this.env.FILES, fileName(tenant, id), jurisdiction);
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
  async closeBatch(batch: string, ending: BatchEnding, expiresAt: number): Promise<ClosedBatch | null> {
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
    for (const _ of this.#batches.drop(batch, kind)) await scheduler.wait(0);
    await this.#endIfEmpty();
  }

  async #endIfEmpty(): Promise<void> {
    if (this.#batches.hasAny || this.#segments.hasAny()) return;
    await this.end();
  }

  async #write(asked: FileRequest, body: ReadableStream<Uint8Array> | null): Promise<Response> {
    await this.ctx.storage.setAlarm(asked.expiresAt);
    const stored = await this.#segments.write(asked, body);
    // It was dropped meanwhile: nobody waits for an answer.
    if (stored === "dropped") return new Response(null, { status: NOT_FOUND });
    return stored === null ? new Response(null, { status: PAYLOAD_TOO_LARGE }) : Response.json(stored);
  }

  #read({ from, to, view }: FileRequest): Response {
    const isThere = view === null ? this.#segments.isThere() : this.#batches.hasAny;
    if (!isThere) return new Response(null, { status: NOT_FOUND });
    const pieces =
      view === null ? this.#segments.pieces(from, to) : this.#batches.view(view.batch, view.form, from, to);
    const { body, done } = poured(pieces);
    // A reader that leaves is no fault.
    this.ctx.waitUntil(done.catch(() => undefined));
    return new Response(body);
  }

  /** Keeps it until then. */
  async keep(expiresAt: number): Promise<void> {
    if (this.#segments.isThere()) await this.ctx.storage.setAlarm(expiresAt);
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
    const put = this.#segments.putInOrder(ids, bytes);
    if (put !== "whole") return put;
    await this.ctx.storage.setAlarm(expiresAt);
    return (await this.#digests.step(ids.join(), bytes, (from, to) => this.#segments.pieces(from, to))) ?? "more";
  }

  /** Deletes the bytes. What batches made of them stays until their files are dropped. */
  async drop(): Promise<void> {
    if (this.#segments.isThere() && this.#batches.hasAny) this.#segments.removeAll();
    else await this.end();
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
}
