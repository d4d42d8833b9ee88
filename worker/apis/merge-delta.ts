// Merges a delta of an OpenAI stream into the answer so far. It knows no field names: text is appended, rows with an
// `index` (tool calls) grow one by one, parts of a text grow at their end, other rows are appended, objects are merged.
// So fields that an API adds later are kept. A text may continue as parts, and parts as a text (Mistral's reasoning).

import { isObject, type JsonObject, objectOf } from "../../contract/text/json-object.ts";

/** Names arrive whole, and may be repeated with each delta, or be empty in all but the first. */
const NAMES = new Set(["id", "type", "role", "name", "object", "model", "format", "native_finish_reason", "severity"]);
/** Rows of these types are pieces of one text. */
const TEXT_PARTS = new Set<unknown>(["text", "thinking"]);
const MAX_ROWS = 10_000;
/** Of these the last ones: an event may name a hundred thousand. */
const ROWS_THAT_GROW = 256;
const MAX_DEPTH = 32;

/** @returns approximately how many characters were added. */
export const mergeDelta = (into: JsonObject, delta: JsonObject, depth = 0): number => {
  if (depth > MAX_DEPTH) return 0;
  let added = 0;
  for (const [field, value] of Object.entries(delta)) {
    if (field === "__proto__" || value === null || value === undefined) continue;
    const old = into[field];
    if (typeof value === "string" && typeof old === "string" && !NAMES.has(field)) {
      into[field] = old + value;
      added += value.length;
    } else if (Array.isArray(value) || (Array.isArray(old) && typeof value === "string")) {
      const rows = Array.isArray(old) ? old : partsOf(old);
      into[field] = rows;
      added += mergeRows(rows, partsOf(value), depth);
    } else if (isObject(value)) {
      const inner = isObject(old) ? old : {};
      into[field] = inner;
      added += mergeDelta(inner, value, depth + 1);
    } else {
      if (value === "" && old !== undefined) continue;
      into[field] = value;
      added += lengthOf(value) - lengthOf(old);
    }
  }
  return added;
};

const lengthOf = (value: unknown): number => (typeof value === "string" ? value.length : 0);

const partsOf = (value: unknown): unknown[] => {
  if (Array.isArray(value)) return value;
  return typeof value === "string" && value !== "" ? [{ type: "text", text: value }] : [];
};

const mergeRows = (rows: unknown[], delta: readonly unknown[], depth: number): number => {
  let added = 0;
  for (const row of delta) {
    const same = isObject(row) ? rowOf(rows, row) : undefined;
    if (isObject(row) && isObject(same)) added += mergeDelta(same, row, depth + 1);
    else if (rows.length < MAX_ROWS) {
      rows.push(row);
      added += JSON.stringify(row)?.length ?? 0;
    }
  }
  return added;
};

/** The row that this one continues. */
const rowOf = (rows: readonly unknown[], row: JsonObject): unknown => {
  const { index, type } = row;
  if (index !== undefined) {
    const same = rows.slice(-ROWS_THAT_GROW).findLast((one) => isObject(one) && one.index === index);
    return isObject(same) && isAnotherCall(same, row) ? undefined : same;
  }
  const last = rows.at(-1);
  return isObject(last) && last.type === type && TEXT_PARTS.has(type) ? last : undefined;
};

/** Some runtimes number each of several calls 0, and some give each part of one call an id, but only the first a name. */
const isAnotherCall = (before: JsonObject, { id, function: called }: JsonObject): boolean =>
  Boolean(before.id && id && before.id !== id && objectOf(called).name);

/** Whether a delta has content; a role or an empty text is not content. */
export const hasContent = (delta: JsonObject): boolean =>
  Object.entries(delta).some(
    ([field, value]) =>
      field !== "role" &&
      ((typeof value === "string" && value !== "") ||
        (Array.isArray(value) && value.length > 0) ||
        (isObject(value) && Object.keys(value).length > 0)),
  );
