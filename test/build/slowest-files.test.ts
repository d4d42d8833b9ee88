// What a run of all tests says at its end.

import { expect, test } from "vitest";
import { slowestFiles } from "../../scripts/slowest-files.ts";

const reportOf = (count: number) => ({
  testResults: Array.from({ length: count }, (_, index) => ({
    name: `/repo/test/${index}.test.ts`,
    startTime: 1_000,
    endTime: 1_000 + index * 100,
  })),
});

test("the ten slowest files are named, slowest first", () => {
  const lines = slowestFiles(reportOf(12), "/repo");
  expect(lines).toHaveLength(10);
  expect(lines[0]).toBe("    1.1 s  test/11.test.ts");
  expect(lines[9]).toBe("    0.2 s  test/2.test.ts");
});

test("a run of a few files names none", () => {
  expect(slowestFiles(reportOf(10), "/repo")).toEqual([]);
});
