// The end of a stream that its source did not end: a last event, so that no client takes a part for the whole.

import { type LastWords, WholeEvents } from "../../../contract/text/whole-events.ts";
import { within } from "../../../contract/text/within.ts";
import { slowReader } from "../../../domain/job/job-error.ts";
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

/** The same events; if they break off, `words` follow the last whole one. */
export const withLastWords = (source: ReadableStream<Uint8Array>, words: LastWords): ReadableStream<Uint8Array> => {
  const events = new WholeEvents();
  const pass = (bytes: Uint8Array, controller: TransformStreamDefaultController<Uint8Array>): void => {
    if (bytes.byteLength > 0) controller.enqueue(bytes);
  };
  const body = writtenBody(
    new TransformStream({
      transform: (chunk, controller) => pass(events.take(chunk), controller),
      flush: (controller) => pass(events.rest(), controller),
    }),
  );
  void body.pipe(source, { preventAbort: true }).catch((error) => {
    const last = events.last();
    events.rest();
    return breakOff(body, words(last, `${error}`.includes(slowReader.code)));
  });
  return body.readable;
};
