// The end of a stream that its source did not end: a last event, so that no client takes a part for the whole.

import { within } from "../../contract/text/within.ts";
import { LastSaid, type LastWords } from "../http/last-said.ts";
import { type WrittenBody, writtenBody } from "./written-body.ts";

/** A client that does not read will not read an error either. */
const LAST_WRITE_MS = 1_000;

export const endWith = async (body: WrittenBody, text: string): Promise<void> => {
  await within(body.write(text), LAST_WRITE_MS);
  await within(body.close(), LAST_WRITE_MS);
};

/** Ends it with an error event; cuts it if nobody reads that. */
export const breakOff = async (body: WrittenBody, event: string): Promise<void> => {
  await endWith(body, event).catch(() => undefined);
  await body.abort().catch(() => undefined);
};

/**
 * The same events; `words` follow them if they break off. Without a copy in JavaScript, unless the words need the end of
 * what was said.
 */
export const withLastWords = (
  events: ReadableStream<Uint8Array>,
  words: LastWords,
  needsLast: boolean,
): ReadableStream<Uint8Array> => {
  const said = new LastSaid();
  const noting = {
    transform: (chunk: Uint8Array, controller: TransformStreamDefaultController<Uint8Array>): void => {
      said.note(chunk);
      controller.enqueue(chunk);
    },
  };
  const body = writtenBody(needsLast ? new TransformStream(noting) : new IdentityTransformStream());
  void body.pipe(events, { preventAbort: true }).catch(() => breakOff(body, words(said.text())));
  return body.readable;
};
