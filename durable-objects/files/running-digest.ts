// Digests of bytes that are read in steps. Invariant: a step reads a bounded part, so that no call of an object takes
// longer than the platform lets it (30 s of CPU), whatever the file has. The platform's digests cannot be stored: what
// is known lies in memory, and an object that left it begins again.

import { hexOf } from "../../domain/words/hex.ts";
import type { StoredBytes } from "./file-request.ts";
import type { ReadBytes } from "./line-slice.ts";

/** About 20 ms of CPU of bytes, 100 of short lines: other tenants wait for the same thread. */
const STEP_BYTES = 4 * 1024 * 1024;
/** Different contents whose digests are under way in one object: more than a tenant has batches. */
export const MAX_RUNNING = 128;

/** The digests of bytes as they pass. */
export class Digests {
  readonly #streams = { sha256: new crypto.DigestStream("SHA-256"), md5: new crypto.DigestStream("MD5") };
  readonly #writers = Object.values(this.#streams).map((stream) => stream.getWriter());

  async add(piece: Uint8Array): Promise<void> {
    await Promise.all(this.#writers.map((writer) => writer.write(piece)));
  }

  async end(): Promise<{ sha256: string; md5: string }> {
    await Promise.all(this.#writers.map((writer) => writer.close()));
    const [sha256, md5] = await Promise.all([this.#streams.sha256.digest, this.#streams.md5.digest]);
    return { sha256: hexOf(new Uint8Array(sha256)), md5: hexOf(new Uint8Array(md5)) };
  }

  abandon(reason: unknown): void {
    for (const stream of Object.values(this.#streams)) stream.digest.catch(() => undefined);
    for (const writer of this.#writers) writer.abort(reason).catch(() => undefined);
  }
}

class RunningDigest {
  readonly #digests = new Digests();
  readonly #stepBytes: number;
  #at = 0;
  #found: Promise<StoredBytes> | null = null;

  constructor(stepBytes: number) {
    this.#stepBytes = stepBytes;
  }

  /** Null: there is more to read. */
  async step(bytes: number, read: ReadBytes): Promise<StoredBytes | null> {
    if (this.#found !== null) return this.#found;
    const to = Math.min(bytes, this.#at + this.#stepBytes);
    for (const piece of read(this.#at, to)) await this.#digests.add(piece);
    this.#at = to;
    if (to < bytes) return null;
    this.#found = this.#digests.end().then((digests) => ({ bytes, ...digests }));
    return this.#found;
  }

  abandon(reason: unknown): void {
    if (this.#found === null) this.#digests.abandon(reason);
  }
}

export class RunningDigests {
  readonly #running = new Map<string, RunningDigest>();
  readonly #stepBytes: number;
  readonly #maxRunning: number;
  #last: Promise<unknown> = Promise.resolve();

  constructor(stepBytes: number = STEP_BYTES, maxRunning: number = MAX_RUNNING) {
    this.#stepBytes = stepBytes;
    this.#maxRunning = maxRunning;
  }

  /**
   * Reads on in the content of this name; only one step runs at a time. Null: ask again. A result is kept and answered
   * until it is forgotten.
   */
  step(name: string, bytes: number, read: ReadBytes): Promise<StoredBytes | null> {
    const next = this.#last.then(() => this.#step(name, bytes, read));
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #step(name: string, bytes: number, read: ReadBytes): Promise<StoredBytes | null> {
    const known = this.#running.get(name) ?? new RunningDigest(this.#stepBytes);
    this.#running.delete(name);
    this.#running.set(name, known);
    const [oldest] = this.#running.keys();
    if (oldest !== undefined && this.#running.size > this.#maxRunning) this.forget(oldest);
    try {
      return await known.step(bytes, read);
    } catch (error) {
      this.forget(name);
      throw error;
    }
  }

  forget(name: string): void {
    this.#running.get(name)?.abandon(new Error("forgotten"));
    this.#running.delete(name);
  }
}
