// Lists in pages: the newest part by default, more with --limit and --all.

import type { Listing } from "../../contract/client/listing.ts";
import { MAX_PAGE } from "../../contract/words/values.ts";
import { UsageError } from "../failure.ts";
import type { Input } from "../input.ts";
import type { Output } from "../output.ts";
import type { Column } from "../terminal/cells.ts";
import type { Flag } from "../verb.ts";

export const PAGE_FLAGS = {
  limit: { takes: "n", says: "the number of rows to list (50)" },
  all: { takes: null, says: "lists every page" },
} as const satisfies Readonly<Record<string, Flag>>;

type Page<Name extends string, Row> = { readonly total: number; readonly next_cursor?: string | null } & {
  readonly [N in Name]: readonly Row[];
};

/** `name`: the field of the answer that holds the rows. */
export const showPages = async <Name extends string, Row>(
  output: Output,
  input: Input,
  name: Name,
  read: (limit: number | null) => Listing<Page<Name, Row>, Row>,
  columns: readonly Column<Row>[],
): Promise<void> => {
  const isAll = input.is("all");
  const limit = input.number("limit");
  if (isAll && limit !== undefined) throw new UsageError("give --limit or --all");
  const pages = read(isAll ? MAX_PAGE : limit === undefined ? null : Math.min(limit, MAX_PAGE));
  const page = await pages;
  // New rows may arrive while the pages are read: --all has no end of its own.
  const wanted = isAll ? Number.POSITIVE_INFINITY : (limit ?? 0);
  let rows: readonly Row[] = page[name];
  // Of the archive `total` counts the page's rows alone.
  const hasMore = page.total > rows.length || (page.next_cursor ?? null) !== null;
  if (wanted > rows.length && hasMore) {
    const all: Row[] = [];
    for await (const row of pages) if (all.push(row) >= wanted) break;
    rows = all;
  }
  const total = Math.max(page.total, rows.length);
  output.table(rows === page[name] ? page : { [name]: rows, total }, rows, columns);
  output.cutOff(rows.length, total, isAll ? "" : "; --all lists every page");
};
