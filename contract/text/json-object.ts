// JSON from outside, whose shape nobody has checked yet.

import { hasFields, type Json } from "../../domain/words/json.ts";

export type JsonObject = { [field: string]: unknown };

export const isObject = (value: unknown): value is JsonObject => hasFields(value);

/** `value` if it is an object, else an empty one, so that fields can be read from it. */
export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});

/** Undefined if the text is not JSON. */
export const parseJson = (text: string): Json | undefined => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The text itself if it is not JSON. */
export const jsonOrText = (text: string): Json => {
  const value = parseJson(text);
  return value === undefined ? text : value;
};
