// Anthropic's body of a new batch, `{"requests": [{custom_id, params}, …]}`, as the lines of a batch's file: a request
// at a time, so that a body of any size passes through.

import { JSON_MARKS } from "../../contract/text/json-marks.ts";
import { isObject } from "../../contract/text/json-object.ts";
import { jsonExcess } from "../../contract/words/json-bounds.ts";
import { MAX_LINE_BYTES } from "../../domain/batch/batch-line.ts";
import { invalid } from "../../domain/words/refusal.ts";
import { joined } from "../http/body.ts";
import { Refused } from "../http/refused.ts";

const [QUOTE, BACKSLASH, COMMA, , OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = JSON_MARKS;
const SPACE = 0x20;
/** Depths at which the list and its requests stand. */
const [IN_BODY, IN_LIST] = [1, 2];
const MAX_NAME_BYTES = 64;
const URL_OF_LINES = "/v1/messages";
const NO_REQUEST = "must be a JSON object {custom_id, params}";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

const refuse = (path: string, message: string): never => {
  throw new Refused(invalid(path, message));
};

class RequestLines {
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  #name = "";
  #isInList = false;
  #isListed = false;
  #count = 0;
  /** Of the request that is being read. */
  #pieces: Uint8Array[] = [];
  #size = 0;

  /** The lines of the requests that end in this chunk. */
  *push(chunk: Uint8Array): Generator<Uint8Array> {
    let from = this.#pieces.length > 0 || this.#isInRequest() ? 0 : -1;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      if (this.#isInText) {
        this.#readText(byte);
        continue;
      }
      if (this.#isInList && this.#depth === IN_LIST && byte > SPACE && byte !== COMMA && byte !== CLOSE_BRACKET) {
        if (byte !== OPEN_BRACE) refuse(`requests.${this.#count}`, NO_REQUEST);
        from = at;
      }
      this.#readMark(byte);
      if (from < 0 || this.#depth !== IN_LIST || byte !== CLOSE_BRACE) continue;
      this.#hold(chunk.subarray(from, at + 1));
      from = -1;
      yield this.#line();
    }
    if (from >= 0) this.#hold(chunk.subarray(from));
  }

  end(): void {
    if (this.#depth !== 0 || this.#isInText) refuse("", "the body must be JSON: it ends too early");
    if (!this.#isListed) refuse("requests", "is required: a list of {custom_id, params}");
  }

  #isInRequest(): boolean {
    return this.#isInList && this.#depth > IN_LIST;
  }

  #readText(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#isInText = false;
    else if (this.#depth === IN_BODY && this.#name.length < MAX_NAME_BYTES) this.#name += String.fromCharCode(byte);
  }

  #readMark(byte: number): void {
    if (byte === QUOTE) {
      this.#isInText = true;
      if (this.#depth === IN_BODY) this.#name = "";
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (byte === OPEN_BRACKET && this.#depth === IN_BODY && this.#name === "requests") this.#beginList();
      if (this.#depth === 0 && byte !== OPEN_BRACE) refuse("", "the body must be a JSON object");
      this.#depth += 1;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      this.#depth -= 1;
      if (this.#depth < 0) refuse("", "the body must be JSON");
      if (this.#depth === IN_BODY) this.#isInList = false;
    }
  }

  #beginList(): void {
    if (this.#isListed) refuse("requests", "is given more than once");
    this.#isInList = true;
    this.#isListed = true;
  }

  #hold(piece: Uint8Array): void {
    this.#size += piece.byteLength;
    if (this.#size > MAX_LINE_BYTES) refuse(`requests.${this.#count}`, `must have at most ${MAX_LINE_BYTES} bytes`);
    this.#pieces.push(piece.slice());
  }

  #line(): Uint8Array {
    const path = `requests.${this.#count}`;
    const bytes = joined(this.#pieces.splice(0));
    this.#size = 0;
    this.#count += 1;
    const { custom_id, params } = requestOf(bytes, path);
    return encoder.encode(`${JSON.stringify({ custom_id, method: "POST", url: URL_OF_LINES, body: params })}\n`);
  }
}

const requestOf = (bytes: Uint8Array, path: string): Record<string, unknown> => {
  try {
    const text = decoder.decode(bytes);
    const excess = jsonExcess(text);
    if (excess !== null) return refuse(path, excess);
    const request: unknown = JSON.parse(text);
    if (isObject(request)) return request;
  } catch (error) {
    if (error instanceof Refused) throw error;
  }
  return refuse(path, NO_REQUEST);
};

/** Throws a refusal where the body is not what it must be. */
export async function* requestLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const lines = new RequestLines();
  for await (const chunk of body) yield* lines.push(chunk);
  lines.end();
}
