// The size of a stream's content in characters: for estimates, where no runtime counts the tokens.

import { dataOf, eventsIn } from "./event-text.ts";
import { isObject, objectOf, parseJson } from "./json-object.ts";

/** Fields whose texts a model writes, in any of the APIs. */
const WRITTEN = new Set([
  "content",
  "text",
  "thinking",
  "reasoning",
  "reasoning_content",
  "refusal",
  "arguments",
  "partial_json",
]);
const MAX_DEPTH = 8;

/** Of a whole answer, or of an event. */
export const writtenIn = (value: unknown, depth = 0): number => {
  if (depth > MAX_DEPTH) return 0;
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + writtenIn(one, depth + 1), 0);
  if (!isObject(value)) return 0;
  let chars = 0;
  for (const [field, inner] of Object.entries(value))
    chars += typeof inner === "string" ? (WRITTEN.has(field) ? inner.length : 0) : writtenIn(inner, depth + 1);
  return chars;
};

/** Responses repeat each text when it is complete, so only their deltas count. */
const contentCharsOf = (event: string): number => {
  const said = objectOf(parseJson(dataOf(event)));
  const { type, delta } = said;
  if (typeof type !== "string" || !type.startsWith("response.")) return writtenIn(said);
  return type.endsWith(".delta") && typeof delta === "string" ? delta.length : 0;
};

export const contentCharsIn = (events: string): number =>
  eventsIn(events).reduce((sum, event) => sum + contentCharsOf(event), 0);
