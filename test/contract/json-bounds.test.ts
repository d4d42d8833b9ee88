// What a JSON text may have before it is parsed, and what many bodies at their bounds have without being refused.

import { expect, it } from "vitest";
import {
  jsonExcess,
  MAX_JSON_DEPTH,
  MAX_JSON_LISTS,
  MAX_JSON_VALUES,
  MAX_JSON_WORDS,
} from "../../contract/words/json-bounds.ts";

const many = (count: number, one: (index: number) => unknown): string =>
  JSON.stringify({ list: Array.from({ length: count }, (_, index) => one(index)) });
const named = (count: number, name: (index: number) => string): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [name(index), 1])));
/** Of some characters. */
const word = (index: number, chars = 8): string => index.toString(36).padStart(chars, "-");

it.each([
  ["as many numbers as are taken", many(MAX_JSON_VALUES - 10, () => 1)],
  ["as many lists as are taken", many(MAX_JSON_LISTS - 2, () => [])],
  ["as many different short texts as are taken", many(MAX_JSON_WORDS - 1, (index) => word(index))],
  ["the same short texts again and again", many(100_000, (index) => word(index % 100))],
  ["the same names again and again", many(20_000, (index) => ({ id: index, name: "Robert", is_known: true }))],
  ["many longer texts", many(100_000, (index) => word(index, 11))],
  [
    "the largest batch of jobs with tags of their own",
    many(500, (job) => ({ prompt: "p", tags: Array.from({ length: 32 }, (_, tag) => word(job * 32 + tag)) })),
  ],
  ["brackets in texts", many(100_000, () => `[{"${"[".repeat(MAX_JSON_DEPTH)}`)],
])("a text with %s passes", (_, text) => {
  expect(jsonExcess(text)).toBeNull();
});

const ESCAPES = [...'nrtbf/\\"'];
const onlyEscapes = (index: number): string =>
  [..."123456"].map((_, at) => `\\${ESCAPES[(index >> (3 * at)) & 7]}`).join("");

const TWICE = 2 * MAX_JSON_WORDS;

it.each([
  ["more values", many(MAX_JSON_VALUES, () => 1), "320000 values"],
  ["more lists and objects", many(MAX_JSON_LISTS, () => ({})), "65536 lists and objects"],
  ["more different short texts", many(TWICE, (index) => word(index)), "32768 different names and texts"],
  ["more different short texts with escapes", many(TWICE, (index) => `\u0001${word(index)}`), "32768 different names"],
  [
    "more different short texts that only have escapes",
    `[${Array.from({ length: TWICE }, (_, index) => `"${onlyEscapes(index)}"`)}]`,
    "32768 different names",
  ],
  ["more different names", named(TWICE, (index) => word(index)), "32768 different names"],
  ["more different long names", named(TWICE, (index) => word(index, 40)), "32768 different names"],
  ["too deep a list, which is closed again", `${"[".repeat(65)}${"]".repeat(65)}`, "deeper than 64 levels"],
])("a text with %s is refused", (_, text, said) => {
  expect(jsonExcess(text)).toContain(said);
});
