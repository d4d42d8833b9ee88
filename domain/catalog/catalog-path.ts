// The dotted paths of a provider file: `limits.max_input_tokens`, `providers.0.context_length`. Only own properties and
// array indexes, so no path reaches a prototype.

const PATH_MAX_SEGMENTS = 8;

const SEGMENT = "[A-Za-z0-9_-]{1,64}";
const FIELD_PATH = new RegExp(`^${SEGMENT}(\\.${SEGMENT}){0,${PATH_MAX_SEGMENTS - 1}}$`);
const LIST_PATH = new RegExp(`^(${SEGMENT}(\\.${SEGMENT}){0,${PATH_MAX_SEGMENTS - 1}})?\\[\\]$`);

export const isFieldPath = (path: string): boolean => FIELD_PATH.test(path);

/** `data[]`, `result.models[]`, or `[]` if the answer itself is the list. */
export const isListPath = (path: string): boolean => LIST_PATH.test(path);

/** The value at the path, or undefined if a step is missing. */
export const readPath = (value: unknown, path: string): unknown => path.split(".").reduce<unknown>(ownKey, value);

export const ownKey = (value: unknown, key: string): unknown => {
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) return /^(0|[1-9]\d{0,5})$/.test(key) ? value[Number(key)] : undefined;
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
};
