// How long a text may be is said in bytes of UTF-8; most texts are not encoded to know that they are short enough. A
// time that is taken can be answered.

import { expect, it } from "vitest";
import { fromIso, instant, isWithinBytes, toIso, utf8Bytes } from "../../contract/words/field.ts";

const TEXTS = ["", "a", "plain text", "é", "naïve", "€", "€uro €", "😀", "a😀€é", "\ud800"];

it.each(TEXTS)("%j is within its own bytes, and within no fewer", (text) => {
  const bytes = utf8Bytes(text);
  for (let limit = 0; limit <= 4 * text.length + 1; limit += 1)
    expect([limit, isWithinBytes(text, limit)]).toEqual([limit, bytes <= limit]);
});

it.each([
  ["0000-01-01T00:00:00Z", true],
  ["0000-01-01T00:00:00+00:01", false],
  ["9999-12-31T23:59:59.999Z", true],
  ["9999-12-31T23:59:59-00:01", false],
])("the time %s is taken: %s", (given, isTaken) => {
  expect(instant.safeParse(given).success).toBe(isTaken);
  if (isTaken) expect(instant.parse(toIso(fromIso(given)))).toBe(toIso(fromIso(given)));
});

it("a text that is no time has one problem", () => {
  expect(instant.safeParse("tomorrow").error?.issues).toHaveLength(1);
});
