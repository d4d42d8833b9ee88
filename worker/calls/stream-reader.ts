// Reads the events of an answer: assembles it, passes the events on, and stops when further reading is useless. Events
// before the first with content are held back, so that an attempt that fails before content can be repeated elsewhere
// unseen.

import { MAX_RESULT_BYTES, utf8Bytes } from "../../contract/words/field.ts";
import { MAX_LARGE_RESULT_BYTES } from "../../contract/words/values.ts";
import { type Assembly, type Dialect, lacking } from "../apis/dialect.ts";
import { spentSoFar } from "../apis/spent.ts";
import type { SseEvent } from "../apis/sse.ts";
import type { Spent } from "../apis/usage.ts";
import { failed, type JobFailure, type Outcome, type RunOptions, resultTooLarge } from "./runtime.ts";

/** Of events without content, which are held back. */
const MAX_KEPT_BACK_CHARS = MAX_RESULT_BYTES;
/** Of whole events, each with what it costs to read, beside those that say so much more: no stream goes on for nothing. */
const MAX_BESIDE_CHARS = MAX_LARGE_RESULT_BYTES;
const CHARS_AN_EVENT = 64;
const CHARS_BESIDE_ONE = 256;

type Reading = {
  dialect: Dialect;
  maxResultBytes?: number | undefined;
  isPassedOn?: boolean | undefined;
  /** An estimate, for an answer that is cut. */
  inputTokens: () => number;
  /** The failure for an error in the stream, worded for the caller. */
  explain: (failure: { body?: unknown }) => JobFailure;
};

/** It was reached, so it has a status: a request on which a runtime breaks off twice is not tried a third time. */
export const BROKEN_OFF: JobFailure = {
  code: "runtime_unreachable",
  message: "The runtime's answer broke off before its end",
  retryable: true,
  status: 502,
};

export class StreamReader {
  readonly #request: Reading;
  readonly #assembly: Assembly;
  readonly #emit: RunOptions["emit"];
  #keptBack: string[] = [];
  /** The end's mark and what follows it: many clients leave when they read it, and the job shall be reported by then. */
  #ending: string[] = [];
  #keptChars = 0;
  #readChars = 0;
  #hasContent = false;
  /** Of the result that was not kept. */
  #forgotten = { chars: 0, bytes: 0 };

  constructor(request: Reading, assembly: Assembly, emit: RunOptions["emit"]) {
    this.#request = request;
    this.#assembly = assembly;
    this.#emit = emit;
  }

  /** @returns the outcome if further reading is useless. */
  async take(events: readonly SseEvent[]): Promise<Outcome | null> {
    let failure: JobFailure | null = null;
    for (const { raw, data } of events) {
      this.#readChars += raw.length + CHARS_AN_EVENT;
      if (this.isEnded()) {
        this.#ending.push(raw);
        continue;
      }
      const noted = this.#assembly.take(data);
      if (noted.kind === "error") failure = this.#request.explain({ body: noted.error });
      else failure = this.#tooLarge();
      if (noted.kind === "error" && noted.isEnd === true && this.#hasContent) this.#keptBack.push(raw);
      if (failure !== null) break;
      (this.isEnded() ? this.#ending : this.#keptBack).push(raw);
      this.#keptChars += raw.length;
      this.#hasContent ||= noted.kind === "content" || this.#keptChars > MAX_KEPT_BACK_CHARS;
    }
    if (this.#hasContent) await this.#passOn();
    return failure === null ? null : failed(failure, this.#spent());
  }

  isEnded(): boolean {
    return this.#assembly.isEnded();
  }

  async end(): Promise<Outcome> {
    // A stream that ended without its end event was cut off; a partial answer must not pass for a complete one.
    if (!this.#assembly.isWhole()) return failed(this.#brokenOff(), this.#spent());
    this.#keptBack.push(...this.#ending);
    const closing = this.#assembly.closing();
    if (closing !== "") this.#keptBack.push(closing);
    await this.#passOn();
    const result = this.#assembly.result();
    const { bytes } = this.#forgotten;
    const passedOnBytes = bytes > 0 && { passedOnBytes: bytes + bytesOf(result) };
    return { ok: true, result, ...passedOnBytes, ...this.#request.dialect.spentOf(result) };
  }

  /** It may also have said that it ends, and nothing else. */
  #brokenOff(): JobFailure {
    return this.isEnded() ? this.#request.explain({ body: lacking(this.#request.dialect) }) : BROKEN_OFF;
  }

  #tooLarge(): JobFailure | null {
    const { maxResultBytes = MAX_LARGE_RESULT_BYTES, isPassedOn } = this.#request;
    const size = this.#assembly.size();
    const isForgetful = isPassedOn && this.#assembly.forget !== undefined;
    if (isForgetful && size - this.#forgotten.chars > MAX_RESULT_BYTES) this.#forget(size);
    const limit = isForgetful ? MAX_LARGE_RESULT_BYTES : maxResultBytes;
    if (size > limit) return resultTooLarge(limit);
    return this.#readChars > MAX_BESIDE_CHARS + CHARS_BESIDE_ONE * size ? resultTooLarge() : null;
  }

  #forget(chars: number): void {
    const before = bytesOf(this.#assembly.result());
    this.#assembly.forget?.();
    const bytes = this.#forgotten.bytes + before - bytesOf(this.#assembly.result());
    this.#forgotten = { chars, bytes };
  }

  async #passOn(): Promise<void> {
    const events = this.#keptBack;
    if (events.length === 0) return;
    this.#keptBack = [];
    this.#keptChars = 0;
    await this.#emit(events);
  }

  /** An attempt without output spent what its runtime reports, and no more. */
  #spent(): Spent {
    const { dialect, inputTokens } = this.#request;
    if (!this.#hasContent) return dialect.spentOf(this.#assembly.result());
    return spentSoFar(dialect, this.#assembly, inputTokens);
  }
}

const bytesOf = (result: unknown): number => utf8Bytes(JSON.stringify(result));

export const eventTooLarge = (maxBytes: number): JobFailure => {
  const message = `The runtime wrote one event of more than ${maxBytes} bytes and was stopped; ask for less output`;
  return { code: "result_too_large", message, retryable: false };
};
