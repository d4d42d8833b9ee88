// Small files, a row each. A few objects of a tenant share them (`fileName`): an object of its own costs a hundred times
// what such a file has, in memory, on the disk and in time. Each file has its own end; the alarm comes at the earliest.

import { MAX_PARTS } from "../../domain/file/file.ts";
import { MINUTE_MS } from "../../domain/words/duration.ts";
import { hexOf } from "../../domain/words/hex.ts";
import { first, hasTable, type Sql, scalar } from "../store/sql.ts";
import { type FileRequest, type StoredBytes, WHOLE } from "./file-request.ts";

/** The alarm comes at these full intervals. The tenant drops files at their end; it is for those that it missed. */
const LOOK_EVERY_MS = 10 * MINUTE_MS;

const lookAfter = (at: number): number => Math.ceil(at / LOOK_EVERY_MS + 1) * LOOK_EVERY_MS;

/** The parts of a file lie between these names. */
const partsOf = (id: string): [string, string] => [`${id}/`, `${id}0`];

/** The object's storage is theirs alone. */
export class Shelf {
  readonly #storage: DurableObjectStorage;
  readonly #sql: Sql;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#sql = storage.sql;
  }

  /** A file, or a part of an upload; null: the parts are too many or too long. */
  async store({ id, segment, maxTotalBytes, expiresAt }: FileRequest, bytes: ArrayBuffer): Promise<object | null> {
    if (segment === WHOLE) return this.put(id, bytes, expiresAt);
    const query = "SELECT COUNT(*) AS count, SUM(LENGTH(bytes)) AS bytes FROM shelved WHERE id > ? AND id < ?";
    const others = this.isThere() ? first(this.#sql, query, ...partsOf(id)) : null;
    const total = Number(others?.bytes ?? 0) + bytes.byteLength;
    if (Number(others?.count ?? 0) >= MAX_PARTS || total > maxTotalBytes) return null;
    return this.put(`${id}/${segment}`, bytes, expiresAt);
  }

  /** The parts in this order are the file; they go with it, or when it is kept. As `StoredFile.assemble` answers. */
  async assemble(
    id: string,
    parts: readonly string[],
    bytes: number,
    expiresAt: number,
  ): Promise<StoredBytes | number | null> {
    const found = parts.flatMap((part) => this.read(`${id}/${part}`) ?? []);
    if (new Set(parts).size !== parts.length || found.length !== parts.length) return null;
    const sum = found.reduce((all, part) => all + part.byteLength, 0);
    if (sum !== bytes) return sum;
    const whole = await new Blob(found).arrayBuffer();
    const md5 = hexOf(new Uint8Array(await crypto.subtle.digest("MD5", whole)));
    return { ...(await this.put(id, whole, expiresAt)), md5 };
  }

  #dropParts(id: string): void {
    this.#sql.exec("DELETE FROM shelved WHERE id > ? AND id < ?", ...partsOf(id));
  }

  /** Repeating it changes nothing. */
  async put(id: string, bytes: ArrayBuffer, expiresAt: number): Promise<Omit<StoredBytes, "md5">> {
    const digest = await crypto.subtle.digest("SHA-256", bytes);
    this.#sql.exec(
      "CREATE TABLE IF NOT EXISTS shelved (id TEXT PRIMARY KEY, expires_at INTEGER NOT NULL, bytes BLOB NOT NULL) WITHOUT ROWID",
    );
    const insert = "INSERT OR REPLACE INTO shelved (id, expires_at, bytes) VALUES (?, ?, ?)";
    this.#sql.exec(insert, id, expiresAt, bytes);
    await this.#wakeBy(expiresAt);
    return { bytes: bytes.byteLength, sha256: hexOf(new Uint8Array(digest)) };
  }

  /** null: it is not here, or no longer. */
  read(id: string): Uint8Array<ArrayBuffer> | null {
    if (!this.isThere()) return null;
    const row = first<{ bytes: ArrayBuffer }>(this.#sql, "SELECT bytes FROM shelved WHERE id = ?", id);
    return row === null ? null : new Uint8Array(row.bytes);
  }

  async keep(id: string, expiresAt: number): Promise<void> {
    if (!this.isThere()) return;
    this.#sql.exec("UPDATE shelved SET expires_at = ? WHERE id = ?", expiresAt, id);
    this.#dropParts(id);
    await this.#wakeBy(expiresAt);
  }

  /** Kept for at least so long. */
  keepLonger(id: string, expiresAt: number): void {
    if (this.isThere())
      this.#sql.exec("UPDATE shelved SET expires_at = MAX(expires_at, ?) WHERE id = ?", expiresAt, id);
  }

  async drop(ids: readonly string[]): Promise<void> {
    if (!this.isThere()) return;
    for (const id of ids) {
      this.#sql.exec("DELETE FROM shelved WHERE id = ?", id);
      this.#dropParts(id);
    }
    if (this.#isEmpty()) await this.#end();
  }

  /** The object's alarm. */
  async dropEnded(nowAt: number): Promise<void> {
    this.#sql.exec("DELETE FROM shelved WHERE expires_at <= ?", nowAt);
    if (this.#isEmpty()) await this.#end();
    else await this.#storage.setAlarm(this.#lookAt());
  }

  isThere(): boolean {
    return hasTable(this.#sql, "shelved");
  }

  #isEmpty(): boolean {
    return first(this.#sql, "SELECT 1 FROM shelved LIMIT 1") === null;
  }

  /** An alarm that comes earlier stays: it then looks what is next. */
  async #wakeBy(expiresAt: number): Promise<void> {
    const wakesAt = (await this.#storage.getAlarm()) ?? Number.POSITIVE_INFINITY;
    if (wakesAt > lookAfter(expiresAt)) await this.#storage.setAlarm(this.#lookAt());
  }

  #lookAt(): number {
    return lookAfter(scalar(this.#sql, "SELECT MIN(expires_at) FROM shelved") ?? 0);
  }

  /** Without files the object has no storage. Both at once, so that nothing is put between them. */
  async #end(): Promise<void> {
    await Promise.all([this.#storage.deleteAlarm(), this.#storage.deleteAll()]);
  }
}
