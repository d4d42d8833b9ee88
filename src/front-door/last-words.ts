// The end of a stream that its source did not end: a last event, so that no client takes a part for the whole.

import { within } from "../../contract/within.ts";
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

/** The same events, without a copy in JavaScript; `event` follows them if they break off. */
export const withLastWords = (events: ReadableStream<Uint8Array>, event: string): ReadableStream<Uint8Array> => {
  const body = writtenBody(new IdentityTransformStream());
  void body.pipe(events, { preventAbort: true }).catch(() => breakOff(body, event));
  return body.readable;
};
