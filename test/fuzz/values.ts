// JSON values as a hostile client would send them, made from a schema: valid, nearly valid, hostile. A value stands for
// its text on the wire, so that `-0`, 1e999 and raw bytes, which JSON.stringify cannot write, are possible.

import fc from "fast-check";
import type { Schema } from "./document.ts";

type Json = unknown;

/** Marks a string that is sent unchanged, without quotes. */
const RAW = "@raw:";
const raw = (text: string): string => `${RAW}${text}@`;

const LONG = "x".repeat(3000);
const TOO_LONG = "y".repeat(300_000);
const MAX_DEPTH = 5;

/** Valid values that a schema cannot express: a field's name, and its possible texts. */
const KNOWN_GOOD: Readonly<Record<string, readonly Json[]>> = {
  cron: ["* * * * *", "0 */6 * * *", "30 4 1 1 *"],
  models_sync_schedule: ["0 */6 * * *", "15 3 * * 1"],
  url: ["https://hooks.example.com/signalbox"],
  models_sync_url: [null, "https://models.example.com/v1/models"],
  interval: ["1s", "90m", "2d"],
  timezone: ["UTC", "Europe/Berlin", "America/New_York"],
  lease: [0, 1, 1, 1, 2, 3],
  tags: [["gpu"], [], ["cpu", "eu-1"]],
  provider: ["openai", "ollama", "anthropic", "fuzz"],
  jurisdiction: [null, "eu", "fedramp"],
  halted: [["x"]],
};

/** Never longer than a test may wait, and never ending what other tests need. */
const TAME: Readonly<Record<string, fc.Arbitrary<Json>>> = {
  wait: fc.constantFrom(0, 0, 0, 1),
  // A config with one request in minutes would keep the test's own key out.
  requests_per_second: fc.constantFrom(null, 10_000),
  burst: fc.constantFrom(null, 10_000),
  in_flight: fc.constantFrom(null, 1_000),
};

const text = ({ minLength = 0, maxLength = 40, pattern, format }: Schema): fc.Arbitrary<string> => {
  if (format === "date-time" || format === "date") {
    const noInvalidDate = true;
    const min = new Date("2000-01-01T00:00:00Z");
    const max = new Date("2100-01-01T00:00:00Z");
    return fc
      .date({ min, max, noInvalidDate })
      .map((at) => (format === "date" ? at.toISOString().slice(0, 10) : at.toISOString()));
  }
  if (pattern !== undefined) {
    const whole = new RegExp(pattern);
    // fast-check reads no lookahead: what it forbids is left out afterwards.
    const readable = new RegExp(pattern.replaceAll(/\(\?![^)]*\)/g, ""));
    const repeats = [...pattern.matchAll(/\{(\d+)/g)].map(([, times]) => Number(times));
    const longest = Math.min(maxLength, 24 + Math.max(0, ...repeats));
    return fc.stringMatching(readable, { maxLength: longest }).filter((one) => whole.test(one));
  }
  const unit = fc.constantFrom(..."abcXYZ019 _-.:/äß漢🦊'\"\\<>{}&%");
  return fc.string({ unit, minLength, maxLength: Math.max(minLength, Math.min(maxLength, 40)) });
};

const integer = ({ minimum = -5, maximum = 1_000_000, exclusiveMinimum }: Schema): fc.Arbitrary<number> => {
  const min = Math.ceil(exclusiveMinimum === undefined ? minimum : exclusiveMinimum + 1);
  return fc.oneof(fc.constantFrom(min, maximum), fc.integer({ min, max: Math.max(min, maximum) }));
};

const decimal = ({ minimum, maximum = 1e6, exclusiveMinimum }: Schema): fc.Arbitrary<number> => {
  const min = minimum ?? (exclusiveMinimum === undefined ? -1e6 : exclusiveMinimum + 0.001);
  return fc.double({ min, max: maximum, noNaN: true });
};

const object = (schema: Schema, resolve: Resolve, depth: number): fc.Arbitrary<Json> => {
  const { properties = {}, required = [], additionalProperties } = schema;
  const fields = Object.entries(properties).map(([name, field]) => [name, valid(field, resolve, depth + 1, name)]);
  const known = fc.record(Object.fromEntries(fields) as Record<string, fc.Arbitrary<Json>>, {
    requiredKeys: [...required],
  });
  if (typeof additionalProperties !== "object") return known;
  const names = fc.constantFrom("openai", "fuzz", "gpt-5", "*", "constructor", "toString", "a b");
  const others = fc.dictionary(names, valid(additionalProperties, resolve, depth + 1), { maxKeys: 3 });
  return fc.tuple(known, others).map(([one, other]) => ({ ...other, ...one }));
};

const ofType = (type: string, schema: Schema, resolve: Resolve, depth: number): fc.Arbitrary<Json> => {
  if (type === "null") return fc.constant(null);
  if (type === "boolean") return fc.boolean();
  if (type === "integer") return integer(schema);
  if (type === "number") return fc.oneof(integer(schema), decimal(schema));
  if (type === "string") return text(schema);
  if (type === "object") return object(schema, resolve, depth);
  const { items = {}, minItems = 0, maxItems = 4 } = schema;
  const maxLength = Math.max(minItems, Math.min(maxItems, 4));
  return fc.array(valid(items, resolve, depth + 1), { minLength: minItems, maxLength });
};

export type Resolve = (schema: Schema) => Schema;

/** Values that the schema accepts. */
export const valid = (schema: Schema, resolve: Resolve, depth = 0, name = ""): fc.Arbitrary<Json> => {
  const tame = TAME[name];
  if (tame !== undefined) return tame;
  const found = resolve(schema);
  const known = Object.hasOwn(KNOWN_GOOD, name) ? KNOWN_GOOD[name] : undefined;
  const byType = bySchema(found, resolve, depth);
  if (known === undefined || found.type === "object") return byType;
  const fits = known.filter((value) => Array.isArray(value) === isArrayType(found));
  return fits.length === 0 ? byType : fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...fits) }, byType);
};

const isArrayType = ({ type }: Schema): boolean => type === "array" || (Array.isArray(type) && type.includes("array"));

const bySchema = (schema: Schema, resolve: Resolve, depth: number): fc.Arbitrary<Json> => {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const options = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (options !== undefined) return fc.oneof(...options.map((option) => valid(option, resolve, depth)));
  if (schema.type === undefined) {
    return depth > MAX_DEPTH ? fc.constant(null) : fc.jsonValue({ maxDepth: 2 });
  }
  const types = typeof schema.type === "string" ? [schema.type] : schema.type;
  return fc.oneof(...types.map((type) => ofType(type, schema, resolve, depth)));
};

/** An own key, even `__proto__`. */
const withKey = (name: string, value: Json): Json => Object.defineProperty({}, name, { value, enumerable: true });

export const UNKNOWN_NAMES = ["promt", "__proto__", "constructor", "toString", "x".repeat(200), "", "ключ", "a.b"];

export const hostile: fc.Arbitrary<Json> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom<Json>(
      null,
      true,
      "",
      0,
      -1,
      0.5,
      2 ** 31,
      2 ** 53,
      -(2 ** 63),
      1e308,
      Number.MIN_VALUE,
      [],
      {},
      [null],
      [[]],
      "\u0000",
      "a\u0000b",
      "\ud800",
      "\udfffx",
      "\u202e\ufeff",
      "\r\nX-Injected: 1",
      "null",
      "2026-13-45T99:99:99Z",
      "0000-01-01T00:00:00Z",
      "99999-01-01",
      "; DROP TABLE jobs; --",
      "' OR 1=1 --",
      "{{7*7}}",
      "../../etc/passwd",
      "%00",
      LONG,
      "漢".repeat(130),
    ),
  },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom(
        ...["-0", "1e999", "-1e999", "1e-999", "9007199254740993", "1".repeat(400), "01", "NaN", "undefined", "0x10"],
        ...[
          "[".repeat(60) + "]".repeat(60),
          "[".repeat(80) + "]".repeat(80),
          `${'{"a":'.repeat(70)}1${"}".repeat(70)}`,
        ],
        ...['{"a":1,"a":2}', '"\\ud800"', '"\\u0000"', '"\t"'],
      )
      .map(raw),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Json>(
      TOO_LONG,
      Array.from({ length: 600 }, () => "t"),
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(...UNKNOWN_NAMES).map((name) => withKey(name, { a: 1 })) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
);

type Place = readonly (string | number)[];

const placesOf = (value: Json, at: Place = []): Place[] => {
  if (typeof value !== "object" || value === null) return [at];
  const inner = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [at, ...inner.flatMap(([key, part]) => placesOf(part, [...at, key]))];
};

const changedAt = (value: Json, [key, ...rest]: Place, change: (old: Json) => Json): Json => {
  if (key === undefined) return change(value);
  if (Array.isArray(value)) return value.map((part, index) => (index === key ? changedAt(part, rest, change) : part));
  const entries = Object.entries(value as object);
  return Object.fromEntries(
    entries
      .map(([name, part]) => [name, name === key ? changedAt(part, rest, change) : part] as const)
      .filter(([, part]) => part !== undefined),
  );
};

/** A valid value with one thing wrong: another value, no value, or an unknown field. */
export const nearlyValid = (schema: Schema, resolve: Resolve): fc.Arbitrary<Json> =>
  fc.tuple(valid(schema, resolve), fc.nat(), fc.oneof(hostile, fc.constant(undefined))).map(([value, nth, wrong]) => {
    const places = placesOf(value);
    const place = places[nth % places.length] ?? [];
    return place.length === 0 && wrong === undefined ? null : changedAt(value, place, () => wrong);
  });

/** The text that is sent. */
export const toWire = (value: Json): string =>
  (JSON.stringify(value) ?? "null").replaceAll(/"@raw:((?:[^"\\@]|\\.)*)@"/g, (_, quoted: string) =>
    JSON.parse(`"${quoted}"`),
  );
