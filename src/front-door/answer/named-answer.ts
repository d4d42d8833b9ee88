// A stored answer has its own id: the runtime's is replaced wherever the answer names itself. Everything else passes
// through as it came.

import { type DoorError, errorEvent } from "../../../contract/front-door/dialect.ts";
import { namedAnswer } from "../../../contract/front-door/response.ts";
import { dataOf, eventEndsIn } from "../../../contract/text/event-text.ts";
import { isObject, parseJson } from "../../../contract/text/json-object.ts";
import { within } from "../../../contract/text/within.ts";
import { responseIdOf, type StoredResponse } from "../../../domain/front-door/stored-response.ts";
import type { Json } from "../../../domain/words/json.ts";

const BEARS_ANSWER = /"response": ?\{/;

/** One event, with the empty line that ends it. */
const namedEvent = (event: string, response: StoredResponse): string => {
  if (!BEARS_ANSWER.test(event)) return event;
  const data = parseJson(dataOf(event));
  if (!isObject(data) || !isObject(data.response)) return event;
  const named = { ...data, response: namedAnswer(data.response as Json, response) };
  return `event: ${String(data.type)}\ndata: ${JSON.stringify(named)}\n\n`;
};

/**
 * In an answer too large to be read, or in the first piece of a long event that bears one: its own id stands at its
 * beginning, before anything nested.
 */
const OWN_ID = /^((?:(?:event:.*\n)?data: ?\{[^{}[\]]*"response":)?\s*\{[^{}[\]]*?"id": ?")[^"\\]*"/;

const withOwnId = (text: string, { id }: StoredResponse): string => text.replace(OWN_ID, `$1${responseIdOf(id)}"`);

export const namedEvents = (events: string, response: StoredResponse): string => {
  if (!BEARS_ANSWER.test(events)) return events;
  let from = 0;
  let named = "";
  for (const to of eventEndsIn(events)) {
    named += namedEvent(events.slice(from, to), response);
    from = to;
  }
  return named + withOwnId(events.slice(from), response);
};

/** Types of events that have the whole answer. */
export const WHOLE_ANSWERS: readonly string[] = ["response.completed", "response.incomplete"];
/** No text of an answer matches: inside of a text, quotation marks are escaped. */
const BEARS_WHOLE_ANSWER = new RegExp(`"type": ?"(?:${WHOLE_ANSWERS.join("|").replaceAll(".", "\\.")})"`);
/** The report of a worker whose stream has ended may be so late. */
const LATE_REPORT_MS = 2_000;

/**
 * The same for a stream whose chunks are whole events, or pieces of a long one. The whole answer waits until its attempt
 * is `over`, and so until it is stored: its client may refer to it in the next moment. If that is an error, the stream
 * ends with it instead.
 */
export const namingEvents = (
  response: StoredResponse,
  over: Promise<DoorError | null>,
): TransformStream<Uint8Array, Uint8Array> => {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  return new TransformStream({
    transform: async (chunk, controller) => {
      const events = decoder.decode(chunk, { stream: true });
      const error = BEARS_WHOLE_ANSWER.test(events) ? await within(over, LATE_REPORT_MS) : null;
      const told = error
        ? errorEvent("responses", error, { jobId: response.id, opening: "", last: events })
        : namedEvents(events, response);
      controller.enqueue(encoder.encode(told));
      if (error) controller.terminate();
    },
  });
};

export const namingAnswer = (response: StoredResponse): TransformStream<Uint8Array, Uint8Array> => {
  const decoder = new TextDecoder();
  let isFirst = true;
  return new TransformStream({
    transform: (chunk, controller) => {
      if (!isFirst) return controller.enqueue(chunk);
      isFirst = false;
      const text = decoder.decode(chunk, { stream: true });
      const named = withOwnId(text, response);
      if (named === text) return controller.enqueue(chunk);
      // Characters cut by the chunk's end stay bytes.
      const kept = chunk.subarray(new TextEncoder().encode(text).length);
      controller.enqueue(new TextEncoder().encode(named));
      if (kept.length > 0) controller.enqueue(kept);
    },
  });
};
