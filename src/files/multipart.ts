// Reads a multipart/form-data body (RFC 7578) as it streams: a part at a time, in order, and of a file only what its
// reader takes. Nothing is held but the piece that may contain a boundary. Written here, because the parsers that exist
// hold each part whole or need Node's streams.

import { invalid } from "../../domain/words/refusal.ts";
import { Refused } from "../http/refused.ts";

const MAX_HEADER_BYTES = 8 * 1024;
const MAX_PARTS = 100;
const MAX_BOUNDARY_CHARS = 70;
const CR = 13;
const NEAR_BYTES = 64;
/** More than a part's headers and a boundary have, which are held until they are whole. */
const BUFFER_BYTES = 256 * 1024;

interface Part {
  readonly name: string;
  /** null: a field, not a file. */
  readonly filename: string | null;
  readonly contentType: string | null;
  /** To be read to its end before the next part. A piece of it is gone when the next one is asked for. */
  readonly body: AsyncIterable<Uint8Array>;
}

const malformed = (what: string): Refused => new Refused(invalid("", `the form is malformed: ${what}`));

/** The boundary of a form's Content-Type; null if it is not a form's. */
export const boundaryOf = (contentType: string | undefined): string | null => {
  if (contentType === undefined || !/^multipart\/form-data\s*(;|$)/i.test(contentType)) return null;
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]+)"|([^;,\s]+))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain ?? "";
  if (boundary === "" || boundary.length > MAX_BOUNDARY_CHARS)
    throw malformed("its Content-Type has no valid boundary");
  return boundary;
};

export async function* readParts(body: ReadableStream<Uint8Array>, boundary: string): AsyncGenerator<Part> {
  const input = new Input(body, new TextEncoder().encode(`\r\n--${boundary}`));
  await drain(input.untilBoundary());
  for (let count = 0; !(await input.isEnd()); count += 1) {
    if (count === MAX_PARTS) throw malformed(`it has more than ${MAX_PARTS} parts`);
    const part = { ...headersOf(await input.headers()), body: input.untilBoundary() };
    yield part;
    await drain(part.body);
  }
}

/** The text of a field; throws above the limit. */
export const readField = async ({ name, body }: Part, maxBytes: number): Promise<string> => {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw new Refused(invalid(name, `must be at most ${maxBytes} bytes`));
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
};

const drain = async (pieces: AsyncIterable<Uint8Array>): Promise<void> => {
  for await (const _ of pieces);
};

const headersOf = (text: string): Omit<Part, "body"> => {
  const headers = new Map(
    text.split("\r\n").map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const disposition = headers.get("content-disposition") ?? "";
  const name = parameterOf(disposition, "name");
  if (!/^form-data\s*;/i.test(disposition) || name === null) throw malformed("a part has no name");
  return { name, filename: parameterOf(disposition, "filename"), contentType: headers.get("content-type") ?? null };
};

/** As browsers write it: a quote is %22, a line break %0D%0A. Others escape a quote with a backslash. */
const parameterOf = (header: string, parameter: string): string | null => {
  const [, extended] = new RegExp(`;\\s*${parameter}\\*=UTF-8''([^;\\s]+)`, "i").exec(header) ?? [];
  if (extended !== undefined) return decoded(extended);
  const [, quoted, plain] =
    new RegExp(`;\\s*${parameter}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^;\\s]+))`, "i").exec(header) ?? [];
  const value = quoted?.replaceAll(/\\(["\\])/g, "$1") ?? plain;
  return value === undefined ? null : value.replaceAll("%22", '"').replaceAll("%0D%0A", " ");
};

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/**
 * The body with a line break before it, so that the first boundary is found as the others are. All of it passes through
 * one buffer.
 */
class Input {
  readonly #reader: ReadableStreamBYOBReader;
  readonly #boundary: Uint8Array;
  #held: Uint8Array<ArrayBuffer> = new Uint8Array(BUFFER_BYTES).subarray(0, 2);

  constructor(body: ReadableStream<Uint8Array>, boundary: Uint8Array) {
    this.#reader = body.getReader({ mode: "byob" });
    this.#boundary = boundary;
    this.#held.set([13, 10]);
  }

  async #more(): Promise<void> {
    const { buffer, byteLength: heldBytes } = this.#held;
    const whole = new Uint8Array(buffer);
    whole.set(this.#held);
    const room = whole.subarray(heldBytes);
    const { value } = await this.#reader.readAtLeast(room.byteLength, room);
    if (value === undefined || value.byteLength === 0) throw malformed("it ends too early");
    this.#held = new Uint8Array(value.buffer, 0, heldBytes + value.byteLength);
  }

  /** What is before the next boundary, which is taken, too. */
  async *untilBoundary(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const at = indexOf(this.#held, this.#boundary);
      const isFound = at + this.#boundary.byteLength <= this.#held.byteLength;
      if (at > 0) yield this.#held.subarray(0, at);
      this.#held = this.#held.subarray(isFound ? at + this.#boundary.byteLength : at);
      if (isFound) return;
      await this.#more();
    }
  }

  /** Behind a boundary: two hyphens end the form, a line break begins a part. */
  async isEnd(): Promise<boolean> {
    while (this.#held.byteLength < 2) await this.#more();
    const mark = String.fromCharCode(...this.#held.subarray(0, 2));
    if (mark === "--") return true;
    if (mark !== "\r\n") throw malformed("a boundary is followed by something else");
    return false;
  }

  async headers(): Promise<string> {
    const end = new TextEncoder().encode("\r\n\r\n");
    for (;;) {
      const at = indexOf(this.#held, end);
      if (at + end.byteLength <= this.#held.byteLength) {
        const text = new TextDecoder().decode(this.#held.subarray(2, at));
        this.#held = this.#held.subarray(at + end.byteLength);
        return text;
      }
      if (this.#held.byteLength > MAX_HEADER_BYTES) throw malformed("a part's headers are too long");
      await this.#more();
    }
  }
}

/**
 * Where the text begins in the bytes, or may begin and go on in the next ones; the end of the bytes if nowhere. After a
 * line break that does not match it looks byte by byte for a while: a search from each would cost twenty times as much.
 */
const indexOf = (bytes: Uint8Array, text: Uint8Array): number => {
  const end = bytes.byteLength;
  for (let from = bytes.indexOf(CR); from !== -1; from = bytes.indexOf(CR, from + NEAR_BYTES)) {
    const near = Math.min(end, from + NEAR_BYTES);
    for (let at = from; at < near; at += 1) {
      if (bytes[at] !== CR || (at + 1 < end && bytes[at + 1] !== text[1])) continue;
      let same = 1;
      while (same < text.byteLength && at + same < end && bytes[at + same] === text[same]) same += 1;
      if (same === text.byteLength || at + same === end) return at;
    }
  }
  return end;
};
