// The lines of the batches whose input a file is: read and checked once, given out in order of their cursor, and
// answered. Giving out changes nothing here, and a line keeps its first answer, so everything may be asked twice.

import {
  type BatchEnding,
  type BatchFileKind,
  type LineCursor,
  MAX_BATCH_MODELS,
  type TakenLine,
} from "../../domain/batch/batch.ts";
import { type BatchLine, type Fault, MAX_FAULTS, MAX_LINE_BYTES, wholeFault } from "../../domain/batch/batch-line.ts";
import {
  anthropicParts,
  type LineAnswer,
  type LineParts,
  openAiParts,
  type ToldLine,
} from "../../domain/batch/line-answer.ts";
import { all, first, hasTable, type Row, type Sql, scalar } from "../store/sql.ts";
import { type LearnRequest, type ReadBytes, Slice } from "./line-slice.ts";

/** Of the bodies given out at a time. */
const TAKEN_BYTES = 4 * MAX_LINE_BYTES;
/** Closed or deleted at a time: other tenants wait for the same thread. */
const ENDED_A_SLICE = 1_000;
const PIECE_CHARS = 64 * 1024;
const LISTED = 500;

export type Learned =
  | { readonly is: "reading" }
  | { readonly is: "refused"; readonly faults: readonly Fault[] }
  | { readonly is: "ready"; readonly models: readonly { readonly name: string; readonly total: number }[] };

interface ViewSizes {
  readonly output: number;
  readonly errors: number;
}

/** Where a line lies in its file. */
type Place = Omit<TakenLine, "body"> & { readonly offset: number; readonly length: number };

export type ViewForm = BatchFileKind | "anthropic";

const TABLES = [
  `CREATE TABLE IF NOT EXISTS batches (
    id TEXT PRIMARY KEY, state TEXT NOT NULL, position INTEGER NOT NULL, line INTEGER NOT NULL, faults TEXT NOT NULL,
    ending TEXT, out_dropped INTEGER NOT NULL DEFAULT 0, err_dropped INTEGER NOT NULL DEFAULT 0
  )`,
  // `bytes`: of the line in the output or the error file. `body` last, so that the others are read without it.
  `CREATE TABLE IF NOT EXISTS lines (
    batch TEXT NOT NULL, line INTEGER NOT NULL, custom_id TEXT NOT NULL, model TEXT NOT NULL, hash INTEGER NOT NULL,
    offset INTEGER NOT NULL, length INTEGER NOT NULL, state TEXT, status INTEGER, job_id TEXT, result_file TEXT,
    bytes INTEGER, body TEXT, PRIMARY KEY (batch, line)
  )`,
  // Bodies that are larger than a row, in pieces.
  `CREATE TABLE IF NOT EXISTS large_bodies (
    batch TEXT NOT NULL, line INTEGER NOT NULL, n INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (batch, line, n)
  )`,
  "CREATE UNIQUE INDEX IF NOT EXISTS lines_by_name ON lines (batch, custom_id)",
  "CREATE INDEX IF NOT EXISTS lines_in_order ON lines (batch, model, hash, line)",
];

const utf8 = new TextEncoder();

export class BatchLines {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Whether outputs of a batch are still to be kept here. */
  get hasAny(): boolean {
    return this.#isThere() && all(this.#sql, "SELECT 1 FROM batches LIMIT 1").length > 0;
  }

  /** Reads on, a slice at a time, until every line is known or enough are at fault. */
  learn(asked: LearnRequest, read: ReadBytes): Learned {
    for (const statement of TABLES) this.#sql.exec(statement);
    const { batch } = asked;
    this.#sql.exec("INSERT OR IGNORE INTO batches VALUES (?, 'reading', 0, 0, '[]', NULL, 0, 0)", batch);
    const row = first(this.#sql, "SELECT state, position, line, faults FROM batches WHERE id = ?", batch);
    if (row?.state === "ready") return this.#ready(batch);
    const faults = JSON.parse(row?.faults as string) as Fault[];
    if (row?.state === "refused") return { is: "refused", faults };
    const slice = new Slice(this.#sql, asked, faults, row?.line as number);
    const position = slice.run(row?.position as number, read);
    const isOver = position >= asked.bytes || faults.length >= MAX_FAULTS || slice.mustStop;
    const { line } = slice;
    const save = (state: string): void => {
      const values = [state, position, line, JSON.stringify(faults), batch];
      this.#sql.exec("UPDATE batches SET state = ?, position = ?, line = ?, faults = ? WHERE id = ?", ...values);
    };
    if (!isOver) {
      save("reading");
      return { is: "reading" };
    }
    if (faults.length === 0) faults.push(...this.#faultsOfAll(batch));
    save(faults.length > 0 ? "refused" : "ready");
    // The tenant drops both files of a refused batch.
    return faults.length === 0 ? this.#ready(batch) : { is: "refused", faults };
  }

  /** No more than tells whether there are too many. */
  #models(batch: string): { name: string; total: number }[] {
    const query = `SELECT model AS name, COUNT(*) AS total FROM lines WHERE batch = ? GROUP BY model ORDER BY model
      LIMIT ${MAX_BATCH_MODELS + 1}`;
    return all(this.#sql, query, batch);
  }

  #ready(batch: string): Learned {
    return { is: "ready", models: this.#models(batch) };
  }

  #faultsOfAll(batch: string): Fault[] {
    const models = this.#models(batch).length;
    if (models === 0) return [wholeFault("empty_file", "the file has no requests: one JSON object a line")];
    if (models <= MAX_BATCH_MODELS) return [];
    return [wholeFault("too_many_models", `a batch names at most ${MAX_BATCH_MODELS} different models`)];
  }

  /** The next lines of a model; at least one if there is any. */
  take(batch: string, model: string, cursor: LineCursor | null, limit: number, read: ReadBytes): TakenLine[] {
    const taken: TakenLine[] = [];
    let room = TAKEN_BYTES;
    const query = `SELECT line, custom_id AS customId, hash, offset, length FROM lines
      WHERE batch = ? AND model = ? AND (hash, line) > (?, ?) ORDER BY hash, line LIMIT ?`;
    const asked = [batch, model, cursor?.hash ?? -1, cursor?.line ?? 0, limit];
    for (const { offset, length, ...place } of all<Place>(this.#sql, query, ...asked)) {
      if (taken.length > 0 && length > room) break;
      room -= length;
      const { body } = JSON.parse(decodedText(read(offset, offset + length))) as Pick<BatchLine, "body">;
      taken.push({ ...place, body });
    }
    return taken;
  }

  /** Whether an answer of the line would be kept. */
  awaits(batch: string, line: number): boolean {
    if (!this.#isOpen(batch)) return false;
    return first(this.#sql, "SELECT 1 FROM lines WHERE batch = ? AND line = ? AND state IS NULL", batch, line) !== null;
  }

  #isOpen(batch: string): boolean {
    if (!this.#isThere()) return false;
    return first(this.#sql, "SELECT 1 FROM batches WHERE id = ? AND ending IS NULL", batch) !== null;
  }

  /** A piece of a body that is larger than a row, before its answer is recorded. It may be put again. */
  putPiece(batch: string, line: number, n: number, bytes: ArrayBuffer): void {
    this.#sql.exec("INSERT OR REPLACE INTO large_bodies VALUES (?, ?, ?, ?)", batch, line, n, bytes);
  }

  /** A line that has an answer keeps it; a batch that is closed takes none. */
  record(batch: string, answers: readonly LineAnswer[]): void {
    if (!this.#isOpen(batch)) return;
    for (const answer of answers) this.#answer(batch, answer);
  }

  #answer(batch: string, answer: LineAnswer): void {
    const row = first(this.#sql, "SELECT custom_id, state FROM lines WHERE batch = ? AND line = ?", batch, answer.line);
    if (row === null || row.state !== null) return;
    const told = { customId: row.custom_id as string, requestId: answer.jobId, answer };
    this.#sql.exec(
      `UPDATE lines SET state = ?, status = ?, job_id = ?, result_file = ?, bytes = ?, body = ?
       WHERE batch = ? AND line = ?`,
      answer.state,
      answer.status,
      answer.jobId,
      answer.resultFile === null ? null : JSON.stringify(answer.resultFile),
      bytesOf(openAiParts(told)) + (answer.resultFile === null ? 0 : this.#largeBytes(batch, answer.line)),
      answer.body,
      batch,
      answer.line,
    );
  }

  #largeBytes(batch: string, line: number): number {
    return (
      scalar(this.#sql, "SELECT SUM(LENGTH(bytes)) FROM large_bodies WHERE batch = ? AND line = ?", batch, line) ?? 0
    );
  }

  /** Takes no more answers: lines without one say how the batch ended. Returns whether all lines have been told so. */
  close(batch: string, ending: BatchEnding): boolean {
    if (!this.#isThere()) return true;
    this.#sql.exec("UPDATE batches SET ending = ? WHERE id = ? AND ending IS NULL", ending, batch);
    const known = first(this.#sql, "SELECT ending FROM batches WHERE id = ?", batch)?.ending;
    const state = known === "expired" ? "expired" : "cancelled";
    const query = "SELECT line, custom_id FROM lines WHERE batch = ? AND state IS NULL LIMIT ?";
    const rows = all(this.#sql, query, batch, ENDED_A_SLICE);
    for (const { line, custom_id: customId } of rows) {
      const told = toldLine(batch, { line, custom_id: customId, state } as Row);
      this.#sql.exec(
        "UPDATE lines SET state = ?, bytes = ? WHERE batch = ? AND line = ?",
        state,
        bytesOf(openAiParts(told)),
        batch,
        line ?? 0,
      );
    }
    return rows.length < ENDED_A_SLICE;
  }

  sizes(batch: string): ViewSizes {
    const none = { output: 0, errors: 0 };
    if (!this.#isThere()) return none;
    const query = `SELECT COALESCE(SUM(CASE WHEN state = 'completed' THEN bytes END), 0) AS output,
      COALESCE(SUM(CASE WHEN state <> 'completed' THEN bytes END), 0) AS errors FROM lines WHERE batch = ?`;
    return first(this.#sql, query, batch) ?? none;
  }

  /** One of its files, or Anthropic's results, from one byte up to another; a few lines at a time. */
  view(batch: string, form: ViewForm, from: number, to: number): Generator<Uint8Array> {
    return gathered(form === "anthropic" ? this.#results(batch) : this.#file(batch, form, from, to));
  }

  /** Always all results: `bytes` is their size in the form of the files, so no range can be found by it. */
  *#results(batch: string): Generator<string | Uint8Array> {
    for (const { line, isLarge } of this.#rows(batch, "anthropic")) {
      if (isLarge) yield* this.#pieces(batch, "anthropic", line);
      else yield textOf(anthropicParts(this.#told(batch, line)));
    }
  }

  *#file(batch: string, form: BatchFileKind, from: number, to: number): Generator<string | Uint8Array> {
    let begin = 0;
    for (const { line, bytes, isLarge } of this.#rows(batch, form)) {
      if (begin >= to) return;
      const end = begin + bytes;
      if (!isLarge && begin >= from && end <= to) yield textOf(openAiParts(this.#told(batch, line)));
      else if (end > from) yield* cut(this.#pieces(batch, form, line), from - begin, to - begin);
      begin = end;
    }
  }

  /** A line whose body may be large. */
  *#pieces(batch: string, form: ViewForm, line: number): Generator<Uint8Array> {
    const told = this.#told(batch, line);
    const { head, body, tail } = PARTS[form](told);
    yield utf8.encode(head + body);
    const query = "SELECT bytes FROM large_bodies WHERE batch = ? AND line = ? AND n = ?";
    for (let n = 0; ; n += 1) {
      const row = first<{ bytes: ArrayBuffer }>(this.#sql, query, batch, line, n);
      if (row === null) break;
      yield new Uint8Array(row.bytes);
    }
    yield utf8.encode(tail);
  }

  /** The lines that it has, a page at a time. `isLarge`: the body is in pieces. */
  *#rows(batch: string, form: ViewForm): Generator<{ line: number; bytes: number; isLarge: boolean }> {
    const which = { out: "AND state = 'completed'", err: "AND state <> 'completed'", anthropic: "" }[form];
    const query = `SELECT line, bytes, result_file FROM lines WHERE batch = ? AND line > ? ${which} ORDER BY line LIMIT ?`;
    for (let after = 0; ; ) {
      const page = all<LineRow>(this.#sql, query, batch, after, LISTED);
      if (page.length === 0) return;
      for (const { line, bytes, result_file } of page) {
        after = line;
        yield { line, bytes, isLarge: result_file !== null };
      }
    }
  }

  #told(batch: string, line: number): ToldLine {
    const row = first(this.#sql, "SELECT * FROM lines WHERE batch = ? AND line = ?", batch, line);
    // The batch was deleted while it was read: the answer breaks off, so that it does not look whole.
    if (row === null) throw new Error("the batch has ended");
    return toldLine(batch, row);
  }

  /** One of its files is gone; with the last of them its lines are. Each step is short. */
  *drop(batch: string, kind: BatchFileKind): Generator<void> {
    if (!this.#isThere()) return;
    this.#sql.exec(`UPDATE batches SET ${kind}_dropped = 1 WHERE id = ?`, batch);
    const row = first(this.#sql, "SELECT out_dropped, err_dropped FROM batches WHERE id = ?", batch);
    if (row?.out_dropped === 1 && row.err_dropped === 1) return yield* this.#forget(batch);
    const which = `batch = ? AND line > ? AND line <= ? AND ${kind === "out" ? "state = 'completed'" : "state <> 'completed'"}`;
    for (const [after, last] of this.#slices(batch)) {
      const lines = `SELECT line FROM lines WHERE ${which}`;
      this.#sql.exec(`DELETE FROM large_bodies WHERE batch = ? AND line IN (${lines})`, batch, batch, after, last);
      this.#sql.exec(`UPDATE lines SET body = NULL WHERE ${which}`, batch, after, last);
      yield;
    }
  }

  *#forget(batch: string): Generator<void> {
    for (const [, last] of this.#slices(batch)) {
      for (const table of ["lines", "large_bodies"])
        this.#sql.exec(`DELETE FROM ${table} WHERE batch = ? AND line <= ?`, batch, last);
      yield;
    }
    if (this.#isThere()) this.#sql.exec("DELETE FROM batches WHERE id = ?", batch);
  }

  /** The lines of each slice: behind the first, up to the last. */
  *#slices(batch: string): Generator<readonly [after: number, last: number]> {
    const page = "SELECT line FROM lines WHERE batch = ? AND line > ? ORDER BY line LIMIT ?";
    for (let after = 0; this.#isThere(); ) {
      const last = scalar(this.#sql, `SELECT MAX(line) FROM (${page})`, batch, after, ENDED_A_SLICE);
      if (last === null) return;
      yield [after, last];
      after = last;
    }
  }

  #isThere(): boolean {
    return hasTable(this.#sql, "lines");
  }
}

const PARTS: Readonly<Record<ViewForm, (told: ToldLine) => LineParts>> = {
  out: openAiParts,
  err: openAiParts,
  anthropic: anthropicParts,
};

interface LineRow {
  readonly line: number;
  readonly bytes: number;
  readonly result_file: string | null;
}

/** The texts of short lines together, as bytes. */
function* gathered(parts: Iterable<string | Uint8Array>): Generator<Uint8Array> {
  let text = "";
  for (const part of parts) {
    if (typeof part === "string") text += part;
    if (text !== "" && (typeof part !== "string" || text.length >= PIECE_CHARS)) {
      yield utf8.encode(text);
      text = "";
    }
    if (typeof part !== "string") yield part;
  }
  if (text !== "") yield utf8.encode(text);
}

const textOf = ({ head, body, tail }: LineParts): string => head + body + tail;

const bytesOf = (parts: LineParts): number => utf8.encode(textOf(parts)).byteLength;

/** The bytes of `pieces` from one place up to another. */
function* cut(pieces: Iterable<Uint8Array>, from: number, to: number): Generator<Uint8Array> {
  let at = 0;
  for (const piece of pieces) {
    const kept = piece.subarray(Math.max(0, from - at), Math.max(0, to - at));
    at += piece.byteLength;
    if (kept.byteLength > 0) yield kept;
  }
}

const decodedText = (pieces: Iterable<Uint8Array>): string => {
  const decoder = new TextDecoder();
  let text = "";
  for (const piece of pieces) text += decoder.decode(piece, { stream: true });
  return text + decoder.decode();
};

const toldLine = (batch: string, row: Row): ToldLine => {
  const jobId = (row.job_id ?? null) as string | null;
  const resultFile = row.result_file == null ? null : JSON.parse(row.result_file as string);
  const [status, body] = [(row.status ?? null) as number | null, (row.body ?? null) as string | null];
  const state = row.state as LineAnswer["state"];
  const answer = { state, status, body, jobId, resultFile };
  return { customId: row.custom_id as string, requestId: jobId ?? `${batch}_${row.line}`, answer };
};
