// A worker's events over HTTP: a body whose chunks end anywhere, also within a character.

import { MAX_PART_BYTES } from "../../contract/data-line.ts";
import { WholeEvents } from "../../contract/text/whole-events.ts";

/** The events that each chunk makes whole; empty if it makes none. Throws on an event that is too long. */
export async function* wholeEventsIn(body: ReadableStream<Uint8Array> | null): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const events = new WholeEvents();
  for await (const bytes of (body ?? []) as AsyncIterable<Uint8Array>) {
    const whole = events.take(bytes);
    if (events.heldBytes > MAX_PART_BYTES) throw new Error("an event is too long");
    yield decoder.decode(whole, { stream: true });
  }
}
