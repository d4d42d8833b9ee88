// Long lists, portion by portion.

import { expect, it } from "vitest";
import { portionOf } from "../../durable-objects/steps/portion.ts";
import { wholeList } from "../../src/tenant/whole-list.ts";

const NAMES = Array.from({ length: 100 }, (_, index) => `row ${index}`);
const LONG = "x".repeat(90_000);
/** Every tenth is gone. */
const read = (name: string) => (name.endsWith("0") ? null : { name, text: LONG });

it("a portion ends with the first row behind half a million characters, and names the rest", () => {
  const { rows, rest } = portionOf(NAMES, read);
  expect(rows.map(({ name }) => name)).toEqual(NAMES.slice(1, 7));
  expect(rest).toEqual(NAMES.slice(7));
});

it("a portion has no more rows than it may", () => {
  const { rows, rest } = portionOf(NAMES, read, 3);
  expect(rows.map(({ name }) => name)).toEqual(NAMES.slice(1, 3));
  expect(rest).toEqual(NAMES.slice(3));
});

it("all portions together are the list, in its order, without what is gone", async () => {
  const chars: number[] = [];
  const portion = (names: readonly string[]) => {
    const next = portionOf(names, read);
    chars.push(JSON.stringify(next.rows).length);
    return next;
  };
  const list = await wholeList({ rows: [], total: 90, other: [] }, portion(NAMES), async (names) => portion(names));
  expect(list.read()).toEqual({ rows: NAMES.map(read).filter((row) => row !== null), total: 90, other: [] });
  expect(Math.max(...chars)).toBeLessThan(600_000);
});

it.each([
  ["nothing is named", []],
  ["all are gone", ["10", "20"]],
])("the list is empty where %s", async (_, names) => {
  const list = await wholeList({ rows: [] }, portionOf(names, read), async (rest) => portionOf(rest, read));
  expect(list.text).toBe('{"rows":[]}');
});

it("each portion is presented before the next is asked for", async () => {
  const seen: number[] = [];
  const ask = async (names: readonly string[]) => portionOf(names, read);
  const list = await wholeList({ rows: [] }, portionOf(NAMES, read), ask, async (rows) => {
    seen.push(rows.length);
    return rows.map(({ name }) => ({ name, text: "" }));
  });
  expect(seen.length).toBeGreaterThan(10);
  expect((list.read() as { rows: unknown[] }).rows).toHaveLength(90);
});
