// What came over the wire and turned out to be an object.

export type JsonObject = { [field: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object that `value` is, else an empty one, so that its fields can be asked for. */
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
