// How wide texts are on a terminal, and the tables and cuts that follow from it.

import { describe, expect, it } from "vitest";
import { tableLines } from "../../cli/terminal/cells.ts";
import { cut, widthOf } from "../../cli/terminal/text-width.ts";

describe("a text's width", () => {
  it.each([
    ["plain", 5],
    ["日本語", 6],
    ["ｗｉｄｅ", 8],
    ["한글", 4],
    ["e\u0301", 1],
    ["👍🏽", 2],
    ["👩‍👩‍👧‍👦", 2],
    ["שלום", 4],
    ["\u200b", 0],
    ["", 0],
  ])("of %j is %d", (text, width) => {
    expect(widthOf(text)).toBe(width);
  });

  it("is never more than what a cut leaves, and a cut splits no character", () => {
    for (const text of ["日本語のプロンプト", "👍🏽👍🏽👍🏽👍🏽", "a日b本c語", "plain words", "e\u0301e\u0301e\u0301"])
      for (let width = 1; width <= widthOf(text) + 1; width += 1) {
        const shown = cut(text, width);
        expect(widthOf(shown), `${text} in ${width}`).toBeLessThanOrEqual(width);
        expect(shown.isWellFormed()).toBe(true);
        expect(shown === text).toBe(widthOf(text) <= width);
      }
  });
});

describe("a table", () => {
  it("keeps its columns below each other, and its lines within the terminal, whatever is in them", () => {
    const rows = ["日本", "plain", "👍🏽"].map((name) => ({ name, prompt: "長い文章".repeat(20) }));
    const lines = tableLines(
      rows,
      [
        { title: "name", of: ({ name }) => name },
        { title: "prompt", of: ({ prompt }) => prompt },
      ],
      40,
    );
    const [, ...shown] = lines;
    expect(shown.map((line) => widthOf(line.slice(0, line.indexOf("長"))))).toEqual([7, 7, 7]);
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(40);
  });

  it("may have more rows than a call takes arguments", () => {
    const rows = Array.from({ length: 200_000 }, () => ({ name: "a" }));
    const columns = [
      { title: "name", of: ({ name }: { name: string }) => name },
      { title: "no", of: () => null },
    ];
    expect(tableLines(rows, columns, 80)).toHaveLength(200_001);
  });
});
