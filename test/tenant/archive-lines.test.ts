// What reading the archive costs those beside it, and which of its lines a search finds.

import { scheduler } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, test, vi } from "vitest";
import { matchesLine } from "../../src/history/archive/filter.ts";
import { type ArchivedLine, packPart, unpackPart } from "../../src/history/archive/part.ts";

/** As the server in Node gives it to the app. */
beforeAll(() => void vi.stubGlobal("scheduler", scheduler));
afterAll(() => void vi.unstubAllGlobals());

const lineOf = (id: string, prompt: string): ArchivedLine =>
  ({ id, prompt, error: null, metadata: {}, version: 1 }) as unknown as ArchivedLine;

test("while a part is read, others have their turns", async () => {
  const part = await packPart(Array.from({ length: 16 }, (_, at) => lineOf(`job-${at}`, "a word ".repeat(70_000))));
  let turns = 0;
  const others = setInterval(() => {
    turns += 1;
  }, 0);
  const atLine: number[] = [];
  for await (const _ of unpackPart(part)) atLine.push(turns);
  clearInterval(others);
  expect(atLine.length).toBe(16);
  const [first = 0, last = 0] = [atLine[0], atLine.at(-1)];
  expect(last - first).toBeGreaterThanOrEqual(5);
});

test("of a part that is read for one job, only its lines are", async () => {
  const part = await packPart([lineOf("job-1", "one"), lineOf("job-2", "two"), lineOf("job-2", "three")]);
  const found: string[] = [];
  for await (const { prompt } of unpackPart(part, "job-2")) found.push(prompt);
  expect(found).toEqual(["two", "three"]);
});

describe("a search finds words by their beginnings", () => {
  it.each([
    ["zeb", true],
    ["ZEBRA old", true],
    ["ebra", false],
    ["old gnu", false],
    ["été", true],
    ["te\u0301", false],
    ["x", false],
    ["7th", true],
    ["h", false],
    ["!", false],
  ])("%s: %s", (q, isFound) => {
    // A letter of two units, and one that comes in two pieces.
    expect(matchesLine(lineOf("job-1", "An old-Zebra, l'e\u0301te\u0301; 𝒳x the 7th"), { q })).toBe(isFound);
  });
});
