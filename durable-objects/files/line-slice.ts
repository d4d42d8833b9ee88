// Checks the lines of a part of a batch's file, and keeps those that are right: where each lies, its name and model.

import { jsonExcess } from "../../contract/words/json-bounds.ts";
import {
  type BatchLine,
  type Fault,
  fault,
  isFault,
  type LineRules,
  lineTooLarge,
  MAX_FAULTS,
  MAX_LINE_BYTES,
  MAX_LINES,
  readLine,
  wholeFault,
} from "../../domain/batch/batch-line.ts";
import { all, first, type Sql } from "../store/sql.ts";

/** Read and checked at a time: bounds how long the thread that serves other tenants, too, is busy, and what it holds. */
const SLICE_BYTES = 2 * MAX_LINE_BYTES;
export const SLICE_LINES = 500;
/** With empty ones. */
const MAX_FILE_LINES = 2 * MAX_LINES;
const LINE_FEED = 0x0a;

/** Bytes of the file from one place up to another. */
export type ReadBytes = (from: number, to: number) => Iterable<Uint8Array>;

export interface LearnRequest extends LineRules {
  readonly batch: string;
  /** The file's size. */
  readonly bytes: number;
}

/** Checks the lines of a part of the file. */
export class Slice {
  line: number;
  /** What follows cannot be read. */
  mustStop = false;
  readonly #sql: Sql;
  readonly #asked: LearnRequest;
  readonly #faults: Fault[];

  constructor(sql: Sql, asked: LearnRequest, faults: Fault[], line: number) {
    this.#sql = sql;
    this.#asked = asked;
    this.#faults = faults;
    this.line = line;
  }

  /** Returns the place in the file up to which it has read whole lines. */
  run(from: number, read: ReadBytes): number {
    const to = Math.min(this.#asked.bytes, from + SLICE_BYTES);
    const bytes = joined(read(from, to), to - from);
    const lastLine = this.line + SLICE_LINES;
    let at = 0;
    while (at < bytes.byteLength && this.line < lastLine && this.#faults.length < MAX_FAULTS && !this.mustStop) {
      const found = bytes.indexOf(LINE_FEED, at);
      const isLast = found === -1 && to === this.#asked.bytes;
      if (found === -1 && !isLast) break;
      const end = found === -1 ? bytes.byteLength : found;
      this.#check(bytes.subarray(at, end), from + at);
      at = end + 1;
    }
    if (at === 0 && bytes.byteLength > 0) this.#tooLarge();
    return Math.min(from + at, this.#asked.bytes);
  }

  #tooLarge(): void {
    if (!this.mustStop) this.line += 1;
    this.mustStop = true;
    this.#faults.push(lineTooLarge(this.line));
  }

  #check(bytes: Uint8Array, offset: number): void {
    this.line += 1;
    if (this.line > MAX_FILE_LINES) {
      this.#tooMany();
      return;
    }
    if (bytes.byteLength > MAX_LINE_BYTES) {
      this.#faults.push(lineTooLarge(this.line));
      return;
    }
    const text = decoded(bytes);
    if (text?.trim() === "") return;
    const read = text === null ? null : readLine(text, this.line, this.#asked, jsonExcess);
    if (read === null) this.#faults.push({ ...fault("invalid_json_line", "the line must be UTF-8"), line: this.line });
    else if (isFault(read)) this.#faults.push(read);
    else if (this.line > MAX_LINES) this.#tooMany();
    else this.#keep(read, offset, bytes.byteLength);
  }

  #tooMany(): void {
    this.mustStop = true;
    this.#faults.push(wholeFault("too_many_lines", `a batch has at most ${MAX_LINES} lines`));
  }

  #keep({ customId, model, hash }: BatchLine, offset: number, length: number): void {
    const kept = all(
      this.#sql,
      `INSERT INTO lines (batch, line, custom_id, model, hash, offset, length) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING RETURNING line`,
      this.#asked.batch,
      this.line,
      customId,
      model,
      hash,
      offset,
      length,
    );
    if (kept.length > 0) return;
    const query = "SELECT line FROM lines WHERE batch = ? AND custom_id = ?";
    const before = first(this.#sql, query, this.#asked.batch, customId)?.line;
    const message = `custom_id ${JSON.stringify(customId)} is on line ${before}, too`;
    this.#faults.push({ code: "duplicate_custom_id", message, param: "custom_id", line: this.line });
  }
}

const joined = (pieces: Iterable<Uint8Array>, size: number): Uint8Array => {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.byteLength;
  }
  return bytes.subarray(0, at);
};

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/** Without a byte order mark; null if it is not UTF-8. */
const decoded = (bytes: Uint8Array): string | null => {
  try {
    return strict.decode(bytes);
  } catch {
    return null;
  }
};
