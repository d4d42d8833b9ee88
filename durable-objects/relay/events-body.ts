// A worker's events over HTTP: a body whose chunks end anywhere, also within a character.

import { MAX_PART_BYTES } from "../../contract/data-line.ts";
import { wholeEventsOf } from "../../contract/text/event-text.ts";

/** The events that each chunk makes whole; empty if it makes none. Throws on an event that is too long. */
export async function* wholeEventsIn(body: ReadableStream<Uint8Array> | null): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of (body ?? []) as AsyncIterable<Uint8Array>) {
    rest += decoder.decode(bytes, { stream: true });
    const whole = wholeEventsOf(rest);
    rest = rest.slice(whole.length);
    if (rest.length > MAX_PART_BYTES) throw new Error("an event is too long");
    yield whole;
  }
}
