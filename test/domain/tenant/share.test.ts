// Which process has a tenant: spread evenly and never changing, because it names the folder of the tenant's data.

import { expect, test } from "vitest";
import { isInShare, readShare, shareOf, shareText, WHOLE } from "../../../domain/tenant/share.ts";

const NAMES = Array.from({ length: 10_000 }, (_, index) => `tenant-${index}`);

test.each([2, 3, 4, 8])("ten thousand tenants spread evenly over %i processes", (count) => {
  const tenants = new Array<number>(count).fill(0);
  for (const name of NAMES) tenants[shareOf(name, count)] = (tenants[shareOf(name, count)] ?? 0) + 1;
  for (const one of tenants) expect(Math.abs(one / (NAMES.length / count) - 1)).toBeLessThan(0.1);
});

test("each tenant is in one share, and in the whole", () => {
  for (const name of NAMES.slice(0, 100)) {
    const shares = [0, 1, 2].filter((index) => isInShare(name, { index, count: 3 }));
    expect(shares).toEqual([shareOf(name, 3)]);
    expect(isInShare(name, WHOLE)).toBe(true);
  }
});

test("a share is told as text, and nothing told is the whole", () => {
  expect(readShare(shareText({ index: 2, count: 5 }))).toEqual({ index: 2, count: 5 });
  expect(readShare(undefined)).toEqual(WHOLE);
});

test("the rule never changes: data folders were made by it", () => {
  expect(["default", "alpha", "bravo", "charlie", "delta"].map((name) => shareOf(name, 1_000_000))).toEqual([
    620652, 486511, 184970, 502499, 368230,
  ]);
});
