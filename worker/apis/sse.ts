// Splits a stream of server-sent events into whole events, unchanged, for any chunking and line ends (the rules are in
// `contract/text/event-text.ts`). An event above the size limit is refused while it is read.

import { dataOf, eventEndsIn, LONGEST_EVENT_END } from "../../contract/text/event-text.ts";

export type SseEvent = {
  /** The event with its empty line, unchanged; readers are sent this. */
  raw: string;
  /** Its `data` lines joined; empty for a comment. */
  data: string;
};

export class EventTooLarge extends Error {}

const MAX_BYTES_A_CHAR = 3;

export class EventSplitter {
  readonly #decoder = new TextDecoder();
  readonly #maxBytes: number;
  /** The beginning of an event, as it came: a long one is put together once. */
  #pieces: string[] = [];
  #chars = 0;
  /** The end of the last piece, where an event's end may have begun. */
  #last = "";

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @throws EventTooLarge */
  take(bytes: Uint8Array): SseEvent[] {
    const text = this.#decoder.decode(bytes, { stream: true });
    // An event's end may span two chunks, so the search starts a few characters earlier.
    const before = this.#chars - this.#last.length;
    const ends = [...eventEndsIn(this.#last + text)].map((end) => before + end);
    this.#pieces.push(text);
    this.#chars += text.length;
    this.#last = (this.#last + text).slice(-LONGEST_EVENT_END);
    const events = ends.length === 0 ? [] : this.#upTo(ends);
    this.#checkRest();
    return events;
  }

  #upTo(ends: readonly number[]): SseEvent[] {
    const whole = this.#pieces.join("");
    let start = 0;
    const events = ends.map((end): SseEvent => {
      const raw = whole.slice(start, end);
      start = end;
      this.#check(raw);
      return { raw, data: dataOf(raw) };
    });
    this.#keep(whole.slice(start));
    return events;
  }

  #keep(rest: string): void {
    this.#pieces = rest === "" ? [] : [rest];
    this.#chars = rest.length;
    this.#last = rest.slice(-LONGEST_EVENT_END);
  }

  /** A long one is measured in bytes when it is whole. */
  #checkRest(): void {
    if (this.#chars > this.#maxBytes) throw new EventTooLarge();
  }

  #check(text: string): void {
    if (text.length * MAX_BYTES_A_CHAR <= this.#maxBytes) return;
    if (Buffer.byteLength(text) > this.#maxBytes) throw new EventTooLarge();
  }

  /** The text after the last empty line: some runtimes omit the final one. */
  finish(): SseEvent[] {
    const raw = this.#pieces.join("") + this.#decoder.decode();
    this.#keep("");
    return raw.trim() === "" ? [] : [{ raw: `${raw.trimEnd()}\n\n`, data: dataOf(raw) }];
  }
}

export const writeEvent = (data: unknown, name?: string): string => {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${text}\n\n`;
};
