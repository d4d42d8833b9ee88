// A tenant's rows on the way to another deployment, page by page.

import fc from "fast-check";
import { expect, test } from "vitest";
import { pageOf, ROWS_A_PAGE, rowsAfter, type TablePage } from "../../../domain/tenant/moved-rows.ts";

type Row = Readonly<Record<string, string | number | null>>;

const KEYS = ["id"];

/** A table in the order of its key, as a database reads it: the rows after a key. */
const found = (table: readonly Row[], after: TablePage["next"]): Row[] =>
  table.filter(({ id }) => after === null || Number(id) > Number(after[0])).slice(0, ROWS_A_PAGE);

/** All pages of a table that is asked for page by page, as a move does; `between` changes it meanwhile. */
const pagesOf = (
  table: readonly Row[],
  maxChars: number,
  between: (rows: readonly Row[]) => readonly Row[] = (rows) => rows,
): TablePage[] => {
  const pages: TablePage[] = [];
  let rows = table;
  for (let after: TablePage["next"] = null; pages.length === 0 || after !== null; rows = between(rows)) {
    pages.push(pageOf(found(rows, after), { keys: KEYS, maxChars }));
    after = pages.at(-1)?.next ?? null;
  }
  return pages;
};

const table = fc
  .uniqueArray(
    fc.record({ id: fc.nat(), text: fc.oneof(fc.constant(null), fc.string({ maxLength: 40 })), at: fc.nat() }),
    { maxLength: 60, selector: ({ id }) => id },
  )
  .map((rows) => rows.toSorted((a, b) => a.id - b.id));

test("the pages have every row once and in order, and end with the last (property)", () => {
  fc.assert(
    fc.property(table, fc.integer({ min: 1, max: 200 }), (rows, maxChars) => {
      const moved = pagesOf(rows, maxChars).flatMap((page) => page.rows);
      expect(moved).toEqual(rows.map(({ id, text, at }) => [id, text, at]));
    }),
  );
});

test("rows that go meanwhile take no others with them (property)", () => {
  fc.assert(
    fc.property(table, fc.integer({ min: 1, max: 200 }), (rows, maxChars) => {
      const pages = pagesOf(rows, maxChars, (left) => left.filter((_, index) => index !== 0));
      const moved = new Set(pages.flatMap((page) => page.rows.map(([id]) => id)));
      const stayed = rows.slice(pages.length);
      expect(stayed.filter(({ id }) => !moved.has(id))).toEqual([]);
    }),
  );
});

test("a cursor of another table's key is none of this one", () => {
  expect(rowsAfter(["job_id", "version"], ["j", 3])).toEqual({
    condition: "(job_id, version) > (?, ?)",
    values: ["j", 3],
  });
  expect(rowsAfter(["job_id", "version"], ["j"])).toBeNull();
});

test("a page is as large as allowed, and larger only for a single row (property)", () => {
  const sizeOf = (cells: readonly (string | number | null)[]) =>
    cells.reduce<number>((sum, cell) => sum + (typeof cell === "string" ? cell.length : 8), 0);
  fc.assert(
    fc.property(table, fc.integer({ min: 1, max: 200 }), (rows, maxChars) => {
      for (const { rows: page, next } of pagesOf(rows, maxChars)) {
        const size = page.map(sizeOf).reduce((sum, one) => sum + one, 0);
        if (page.length > 1) expect(size).toBeLessThanOrEqual(maxChars);
        const following = next === null ? undefined : rows.find(({ id }) => id > Number(next[0]));
        if (following === undefined) continue;
        expect(size + sizeOf([following.id, following.text, following.at])).toBeGreaterThan(maxChars);
      }
    }),
  );
});

test("a full page says that there may be more, the one after it that there is not", () => {
  const rows = Array.from({ length: 2 * ROWS_A_PAGE }, (_, id) => ({ id }));
  expect(pagesOf(rows, 1e9).map((page) => [page.rows.length, page.next])).toEqual([
    [ROWS_A_PAGE, [ROWS_A_PAGE - 1]],
    [ROWS_A_PAGE, [2 * ROWS_A_PAGE - 1]],
    [0, null],
  ]);
});

test("columns that belong to the deployment stay behind, in every row", () => {
  const rows = [{ id: 1, secret: "s", text: "a" }];
  const page = pageOf(rows, { keys: KEYS, maxChars: 100, own: new Set(["secret"]) });
  expect(page).toEqual({ columns: ["id", "text"], rows: [[1, "a"]], next: null });
});
