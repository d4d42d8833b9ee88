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
  #rest = "";

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @throws EventTooLarge */
  take(bytes: Uint8Array): SseEvent[] {
    // An event's end may span two chunks, so the search starts a few characters earlier.
    const from = this.#rest.length - LONGEST_EVENT_END;
    this.#rest += this.#decoder.decode(bytes, { stream: true });
    const events: SseEvent[] = [];
    let start = 0;
    for (const end of eventEndsIn(this.#rest, from)) {
      const raw = this.#rest.slice(start, end);
      this.#check(raw);
      events.push({ raw, data: dataOf(raw) });
      start = end;
    }
    this.#rest = this.#rest.slice(start);
    this.#check(this.#rest);
    return events;
  }

  #check(text: string): void {
    if (text.length * MAX_BYTES_A_CHAR <= this.#maxBytes) return;
    if (Buffer.byteLength(text) > this.#maxBytes) throw new EventTooLarge();
  }

  /** The text after the last empty line: some runtimes omit the final one. */
  finish(): SseEvent[] {
    const raw = this.#rest + this.#decoder.decode();
    this.#rest = "";
    return raw.trim() === "" ? [] : [{ raw: `${raw.trimEnd()}\n\n`, data: dataOf(raw) }];
  }
}

export const writeEvent = (data: unknown, name?: string): string => {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${text}\n\n`;
};
