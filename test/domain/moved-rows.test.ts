// A tenant's rows on the way to another deployment, page by page.

import fc from "fast-check";
import { expect, test } from "vitest";
import { pageOf, ROWS_A_PAGE, type TablePage } from "../../domain/moved-rows.ts";

type Row = Readonly<Record<string, string | number | null>>;

/** All pages of a table that is asked for row by row, as a move does. */
const pagesOf = (table: readonly Row[], maxChars: number): TablePage[] => {
  const pages: TablePage[] = [];
  for (let from: number | null = 0; from !== null; from = pages.at(-1)?.next ?? null)
    pages.push(pageOf(table.slice(from, from + ROWS_A_PAGE), from, maxChars));
  return pages;
};

const table = fc.array(
  fc.record({ id: fc.nat(), text: fc.oneof(fc.constant(null), fc.string({ maxLength: 40 })), at: fc.nat() }),
  { maxLength: 60 },
);

test("the pages have every row once and in order, and end with the last (property)", () => {
  fc.assert(
    fc.property(table, fc.integer({ min: 1, max: 200 }), (rows, maxChars) => {
      const moved = pagesOf(rows, maxChars).flatMap((page) => page.rows);
      expect(moved).toEqual(rows.map(({ id, text, at }) => [id, text, at]));
    }),
  );
});

test("a page is as large as allowed, and larger only for a single row (property)", () => {
  const sizeOf = (cells: readonly (string | number | null)[]) =>
    cells.reduce<number>((sum, cell) => sum + (typeof cell === "string" ? cell.length : 8), 0);
  fc.assert(
    fc.property(table, fc.integer({ min: 1, max: 200 }), (rows, maxChars) => {
      for (const { rows: page, next } of pagesOf(rows, maxChars)) {
        const size = page.map(sizeOf).reduce((sum, one) => sum + one, 0);
        if (page.length > 1) expect(size).toBeLessThanOrEqual(maxChars);
        const following = next === null ? undefined : rows[next];
        if (following === undefined) continue;
        expect(size + sizeOf([following.id, following.text, following.at])).toBeGreaterThan(maxChars);
      }
    }),
  );
});

test("a full page says that there may be more, the one after it that there is not", () => {
  const rows = Array.from({ length: 2 * ROWS_A_PAGE }, (_, id) => ({ id }));
  expect(pagesOf(rows, 1e9).map((page) => [page.rows.length, page.next])).toEqual([
    [ROWS_A_PAGE, ROWS_A_PAGE],
    [ROWS_A_PAGE, 2 * ROWS_A_PAGE],
    [0, null],
  ]);
});

test("columns that belong to the deployment stay behind, in every row", () => {
  const rows = [{ id: 1, secret: "s", text: "a" }];
  expect(pageOf(rows, 0, 100, new Set(["secret"]))).toEqual({ columns: ["id", "text"], rows: [[1, "a"]], next: null });
});
