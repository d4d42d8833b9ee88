// Sound as events, so that it passes as it comes: in the form of OpenAI's `stream_format: sse`, the bytes in base64 and
// then an end. The first event also has their content type.

import { base64, fromBase64 } from "../text/base64.ts";
import { eventsOf } from "../text/event-stream.ts";
import { objectOf, parseJson } from "../text/json-object.ts";
import { LONGEST_HELD_BYTES } from "../text/whole-events.ts";

/** Of one event. Three bytes are four characters. */
export const MAX_SPEECH_BYTES = 24 * 1024;
const DELTA = "speech.audio.delta";
const DONE = "speech.audio.done";
/** A worker may name anything; HTTP carries this. */
const TYPE = /^[ -~]+$/;

const eventOf = (fields: { readonly type: string; readonly [name: string]: string }): string =>
  `event: ${fields.type}\ndata: ${JSON.stringify(fields)}\n\n`;

export const speechDelta = (bytes: Uint8Array, contentType: string | null): string =>
  eventOf({ type: DELTA, audio: base64(bytes), ...(contentType === null ? {} : { content_type: contentType }) });

export const SPEECH_DONE = eventOf({ type: DONE });

/** A piece of sound; its type comes with the first. */
export interface Sound {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly contentType: string | null;
}

/**
 * The sound of such events. @throws if they stop before the last one, report an error, or one is too long: then only a
 * part came.
 */
export async function* soundOf(events: ReadableStream<Uint8Array>): AsyncGenerator<Sound, void> {
  for await (const { data } of eventsOf(events, LONGEST_HELD_BYTES)) {
    const { type, audio, content_type: contentType } = objectOf(parseJson(data));
    if (type === DONE || data === "[DONE]") return;
    if (type !== DELTA || typeof audio !== "string") break;
    const isType = typeof contentType === "string" && TYPE.test(contentType);
    yield { bytes: fromBase64(audio), contentType: isType ? contentType : null };
  }
  throw new Error("the sound broke off");
}
