import { expect, test } from "vitest";
import { csvOf } from "../../dashboard/cost/csv.ts";

test.each([
  ["=1+1", "'=1+1"],
  ["@SUM(A1)", "'@SUM(A1)"],
  ["\n=1+1", '"\'\n=1+1"'],
  ["\t=1+1", '"\'\t=1+1"'],
  ["＝1+1", "'＝1+1"],
  ["－1", "'－1"],
  ["a;=1+1", '"a;=1+1"'],
  ["a\t=1+1", '"a\t=1+1"'],
  ['a "b", c', '"a ""b"", c"'],
  ["gpt-5-mini", "gpt-5-mini"],
])("a cell of %j is no formula in any spreadsheet", (value, cell) => {
  expect(csvOf([[value, -1, null]])).toBe(`${cell},-1,\r\n`);
});
