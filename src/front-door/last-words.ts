// The end of a stream that its source did not end: a last event, so that no client takes a part for the whole.

import { within } from "../../contract/within.ts";

/** A client that does not read will not read an error either. */
const LAST_WRITE_MS = 1_000;

const encoder = new TextEncoder();

export const write = async (stream: WritableStream<Uint8Array>, text: string): Promise<void> => {
  const writer = stream.getWriter();
  await writer.write(encoder.encode(text)).finally(() => writer.releaseLock());
};

export const endWith = async (stream: WritableStream<Uint8Array>, text: string): Promise<void> => {
  await within(write(stream, text), LAST_WRITE_MS);
  await within(stream.close(), LAST_WRITE_MS);
};

/** Ends it with an error event; cuts it if nobody reads that. */
export const breakOff = async (stream: WritableStream<Uint8Array>, event: string): Promise<void> => {
  await endWith(stream, event).catch(() => undefined);
  await stream.abort().catch(() => undefined);
};

/** The same events, without a copy in JavaScript; `event` follows them if they break off. */
export const withLastWords = (events: ReadableStream<Uint8Array>, event: string): ReadableStream<Uint8Array> => {
  const { readable, writable } = new IdentityTransformStream();
  void events.pipeTo(writable, { preventAbort: true }).catch(() => breakOff(writable, event));
  return readable;
};
