// Objects in parsed JSON.

export type JsonObject = { [field: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `value` if it is an object, else an empty one, so that fields can be read from it. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
