// A worker's events over HTTP: a body whose chunks end anywhere, also within a character. It is read no faster than the
// stream's readers read, so that a fast worker makes no reader slow.

import { WholeEvents } from "../../contract/text/whole-events.ts";
import type { RelayedStream } from "./relayed-stream.ts";

type Body = ReadableStream<Uint8Array> | null;

/** The events that each chunk makes whole, empty if it makes none; a very long event in pieces (`LONGEST_HELD_BYTES`). */
async function* wholeEventsIn(body: Body): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const events = new WholeEvents();
  for await (const bytes of (body ?? []) as AsyncIterable<Uint8Array>) {
    yield decoder.decode(events.take(bytes), { stream: true });
  }
}

/** Returns false for a body that nobody needs, or whose holder has ended: its rest is not taken. */
export const takeEvents = async (
  stream: RelayedStream,
  holder: string | null,
  body: Body,
  take: (events: string) => void,
): Promise<boolean> => {
  const ended = Promise.withResolvers<boolean>();
  const end = (): void => {
    stream.writer.noteLeft(Date.now());
    ended.resolve(false);
  };
  const held = { holder, end };
  stream.writer.noteBody(held);
  const takeAll = async (): Promise<boolean> => {
    for await (const events of wholeEventsIn(body)) {
      if (stream.isOver || stream.isReaderGone || stream.writer.body !== held) return false;
      if (events !== "") take(events);
      await stream.caughtUp();
    }
    return true;
  };
  // A body that breaks off is treated like a body that ends: its worker's report has the outcome.
  const isWhole = await Promise.race([takeAll().catch(() => true), ended.promise]);
  if (!isWhole || stream.isReaderGone) return false;
  stream.writer.noteLeft(Date.now());
  return true;
};
