// Numbers with more digits than a number holds.

import { expect, it } from "vitest";
import { hasTooLarge, losesDigits, parseExact } from "../../contract/text/exact-json.ts";

it.each([
  ['{"seed":12345678901234567891,"a":[-9007199254740993]}', true],
  ['{"text":"12345678901234567891"}', false],
  ['{"id":9007199254740992,"n":9007199254740991,"x":0.1234567890123456}', false],
  ['{"n":1}', false],
  ['{"n":1e400,"a":[-1E+999]}', true],
  ['{"text":"1e400","n":0}', false],
])("%s would be changed: %s, and is written again as it came", (text, isLost) => {
  expect(losesDigits(text)).toBe(isLost);
  expect(JSON.stringify(parseExact(text))).toBe(text);
});

it.each([
  ['{"a":[{"b":1e400}]}', true],
  ["[-1e309]", true],
  [`[${"9".repeat(400)}]`, true],
  ['{"text":"1e400","n":1e308,"m":1e-400}', false],
])("%s has a number that would be null: %s", (text, isTooLarge) => {
  expect(hasTooLarge(text, JSON.parse(text))).toBe(isTooLarge);
});
