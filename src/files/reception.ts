// One file on its way in. A file that is smaller than a row is held here until all of its request has come, and then lies
// on a shelf (`durable-objects/files/shelf.ts`); a larger one streams to an object of its own. A declared length alone
// makes no object: until a first row has come, its room is taken under the id of a small file.

import { cleanFileName, type FileResource } from "../../contract/file.ts";
import { newFileId, newShelvedId, RECEIVING_MS, roomOf } from "../../domain/file/file.ts";
import { MINUTE_MS } from "../../domain/words/duration.ts";
import type { Refusal, RefusalOf } from "../../domain/words/refusal.ts";
import type { Result } from "../../domain/words/result.ts";
import type { StoredBytes } from "../../durable-objects/files/file-request.ts";
import { ROW_BYTES, rowsOf } from "../../durable-objects/files/rows.ts";
import type { Announced, NewFile } from "../../durable-objects/operations/files/files.ts";
import type { Env } from "../env.ts";
import { randomId, type TokenFacts } from "../http/key-format.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { dropBytes, type FileAt, keepBytes, shelve, storeBytes } from "./objects.ts";
import { sendOn, takingRoom } from "./send-on.ts";

/** What the request says of the file, in a query or in a form's fields. */
export interface FileFacts {
  readonly name: string | null;
  readonly contentType: string | null;
  readonly purpose: string | null;
  readonly lifeMs: number | null;
}

export interface Arriving {
  /** null: unknown. */
  readonly declaredBytes: number | null;
  /** How many can come at most, where that is known. */
  readonly mostBytes?: number | null;
  /** The bytes are here already, so the declared number is true. */
  readonly isHere?: boolean;
  /** Sends the bytes on by `store`, once; answers what the request says of the file. */
  readonly send: (store: (body: ReadableStream<Uint8Array> | null) => Promise<void>) => Promise<FileFacts>;
}

/** What is known of bytes that have arrived. */
interface Arrived {
  readonly id: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly name: string;
  readonly contentType: string;
}

/** Who takes the file: how large it may be, and what the tenant gets. */
export interface Receiver {
  readonly tooLarge: RefusalOf<"file_too_large" | "result_too_large">;
  /** How long such a file is kept, as far as the edge can tell. */
  readonly lifeMs: (facts: FileFacts) => number;
  readonly announce: (file: NewFile) => Promise<Result<Announced, Refusal>>;
  readonly finish: (arrived: Arrived, facts: FileFacts) => Promise<Result<FileResource, Refusal>>;
  readonly forget: (id: string) => Promise<unknown>;
}

/** Where a file goes, and the address at which its bytes came. */
export interface Place {
  readonly env: Env;
  readonly name: Pick<TokenFacts, "tenant" | "jurisdiction">;
  readonly origin: string;
}

const OCTETS = "application/octet-stream";
const CONTENT_TYPE = /^[A-Za-z0-9!#$&^_.+-]{1,64}\/[A-Za-z0-9!#$&^_.+-]{1,64}(\s*;[\x20-\x7e]{1,128})?$/;
/**
 * The shelf keeps a file a while longer than the tenant does, so that it need not be told when the tenant's time ends.
 */
const KEPT_LONGER_MS = 10 * MINUTE_MS;

type Body = ReadableStream<Uint8Array> | null;
type Stored = Pick<StoredBytes, "bytes" | "sha256">;

export class Reception {
  readonly #place: Place;
  readonly #arriving: Arriving;
  readonly #receiver: Receiver;
  #id: string;
  #room = roomOf("tenant", { count: 0, bytes: 0 }, 0);
  /** All of a small file. */
  #row: Uint8Array<ArrayBuffer> | null = null;
  #stored: Stored | null = null;
  /** Its object may have something of it. */
  #isSent = false;

  constructor(place: Place, arriving: Arriving, receiver: Receiver) {
    this.#place = place;
    this.#arriving = arriving;
    this.#receiver = receiver;
    this.#id = this.#isSurelyLarge ? newFileId(randomId()) : newShelvedId(randomId());
  }

  get #isSurelyLarge(): boolean {
    const { isHere = false, declaredBytes } = this.#arriving;
    return isHere && (declaredBytes ?? 0) >= ROW_BYTES;
  }

  get #at(): FileAt {
    const { env, name } = this.#place;
    return { env, name, id: this.#id };
  }

  async begin(): Promise<void> {
    await this.#takeRoom(this.#arriving.declaredBytes);
  }

  /** `instead`: the id under which it was announced before. */
  async #takeRoom(bytes: number | null, id = this.#id, instead: string | null = null): Promise<void> {
    const { origin } = this.#place;
    this.#room = unwrap(await this.#receiver.announce({ id, bytes, origin, instead })).room;
    this.#id = id;
  }

  async take(body: Body): Promise<void> {
    if (this.#isSurelyLarge) return this.#stream(body);
    const rowBytes = Math.min((this.#arriving.mostBytes ?? ROW_BYTES) + 1, ROW_BYTES);
    const rows = body === null ? null : rowsOf(body, rowBytes);
    const row = (await rows?.next())?.value ?? new Uint8Array();
    if (rows !== null && row.byteLength === rowBytes) return this.#takeLarge(row, rows);
    await rows?.return(undefined);
    if (row.byteLength > this.#limitBytes) throw this.#refused();
    this.#row = row;
  }

  /** The file is not small: it gets another id, and an object of its own. */
  async #takeLarge(first: Uint8Array, rows: AsyncIterable<Uint8Array>): Promise<void> {
    const { declaredBytes } = this.#arriving;
    await this.#takeRoom(declaredBytes, newFileId(randomId()), this.#id);
    async function* all(): AsyncGenerator<Uint8Array> {
      yield first;
      yield* rows;
    }
    const more = (bytes: number) => this.#takeRoom(bytes);
    const pieces = declaredBytes === null ? takingRoom(all(), this.#limitBytes, more) : all();
    await sendOn(pieces, (body) => this.#stream(body));
  }

  async #stream(body: Body): Promise<void> {
    this.#isSent = true;
    const limits = { maxBytes: this.#limitBytes, expiresAt: Date.now() + RECEIVING_MS };
    this.#stored = await storeBytes(this.#at, body, limits);
    if (this.#stored === null) throw this.#refused();
  }

  get #roomBytes(): number {
    return this.#room.limitBytes - this.#room.heldBytes;
  }

  get #limitBytes(): number {
    return Math.min(this.#roomBytes, this.#receiver.tooLarge.limitBytes);
  }

  #refused(): Refused {
    const { tooLarge } = this.#receiver;
    return new Refused(this.#roomBytes < tooLarge.limitBytes ? { code: "files_full", ...this.#room } : tooLarge);
  }

  async finish(facts: FileFacts): Promise<FileResource> {
    const keptUntil = Date.now() + this.#receiver.lifeMs(facts) + KEPT_LONGER_MS;
    const { bytes, sha256 } = this.#stored ?? (await this.#shelve(keptUntil));
    const contentType = CONTENT_TYPE.test(facts.contentType ?? "") ? (facts.contentType ?? OCTETS) : OCTETS;
    const arrived = { id: this.#id, bytes, sha256, name: cleanFileName(facts.name, this.#id), contentType };
    const finished = unwrap(await this.#receiver.finish(arrived, facts));
    const expiresAt = Date.parse(finished.expires_at);
    const isKept = this.#row !== null && keptUntil >= expiresAt && keptUntil <= expiresAt + 2 * KEPT_LONGER_MS;
    if (!isKept) await keepBytes(this.#at, expiresAt);
    return finished;
  }

  async #shelve(keptUntil: number): Promise<Stored> {
    if (this.#row === null) throw new Error("the request sent no bytes");
    this.#isSent = true;
    return shelve(this.#at, this.#row, keptUntil);
  }

  async abandon(): Promise<void> {
    const dropped = this.#isSent ? [dropBytes(this.#at)] : [];
    await Promise.allSettled([this.#receiver.forget(this.#id), ...dropped]);
  }
}
