// Numbers with more digits than a number holds.

import fc from "fast-check";
import { expect, it } from "vitest";
import { hasTooLarge, losesDigits, parseExact } from "../../contract/text/exact-json.ts";

it.each([
  ['{"seed":12345678901234567891,"a":[-9007199254740993]}', true],
  ['{"text":"12345678901234567891"}', false],
  ['{"id":9007199254740992,"n":9007199254740991,"x":0.1234567890123456}', false],
  ['{"n":1}', false],
  ['{"n":1e400,"a":[-1E+999]}', true],
  ['{"text":"1e400","n":0}', false],
  ['{"a\\"":[{"__proto__":[12345678901234567891,"12345678901234567891"]}],"b":{"c":-1e400}}', true],
  ['{"text":"\\\\","n":1e-1234567890123456,"m":0.12345678901234567e5}', false],
])("%s would be changed: %s, and is written again as it came", (text, isLost) => {
  expect(losesDigits(text)).toBe(isLost);
  expect(JSON.stringify(parseExact(text))).toBe(isLost ? text : JSON.stringify(JSON.parse(text)));
});

it.each([
  ['{"a":[{"b":1e400}]}', true],
  ["[-1e309]", true],
  [`[${"9".repeat(400)}]`, true],
  [`[${"9".repeat(250)}e99]`, true],
  ['{"text":"1e400","n":1e308,"m":1e-400}', false],
])("%s has a number that would be null: %s", (text, isTooLarge) => {
  expect(hasTooLarge(text, JSON.parse(text))).toBe(isTooLarge);
});

it("finds what a parser's reviver finds", () => {
  const digits = fc.stringMatching(/^[1-9]\d{0,20}$/);
  const number = fc.oneof(digits, fc.constantFrom("0", "-0.5", "1e400", "-12e999", "1E20", "123456789012345678e1"));
  const text = fc
    .string({ unit: fc.constantFrom("1234567890123456789", "e400", '\\"', "\\\\", "[", ",") })
    .map((inner) => `"${inner}"`);
  const value = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: "small" }, number, text, tie("list"), tie("object")),
    list: fc.array(tie("value")).map((parts) => `[${parts.join(",")}]`),
    object: fc
      .array(fc.tuple(text, tie("value")))
      .map((parts) => `{${parts.map(([name, of], at) => `${name.slice(0, -1)}${at}": ${of}`).join(", ")}}`),
  })).value as fc.Arbitrary<string>;
  fc.assert(
    fc.property(value, (json) => {
      const sources: string[] = [];
      JSON.parse(json, (_, read: unknown, context?: { source?: string }) => {
        const source = typeof read === "number" ? (context?.source ?? "") : "";
        if (!/\d{16}|[eE]\+?\d{3}/.test(source)) return read;
        const isOther = !Number.isFinite(read) || (Number.isInteger(read) && !Number.isSafeInteger(read));
        if (isOther && String(read) !== source) sources.push(source);
        return read;
      });
      expect(losesDigits(json)).toBe(sources.length > 0);
      const written = JSON.stringify(parseExact(json));
      for (const source of sources) expect(written).toContain(source);
      expect(JSON.parse(written)).toEqual(JSON.parse(json));
    }),
    { numRuns: 2_000 },
  );
});
