// Lists in pages: the newest part by default, more with --limit and --all.

import type { Listing } from "../../contract/client/listing.ts";
import { MAX_PAGE } from "../../contract/words/values.ts";
import type { Column } from "../cells.ts";
import { UsageError } from "../failure.ts";
import type { Input } from "../input.ts";
import type { Output } from "../output.ts";
import type { Flag } from "../verb.ts";

export const PAGE_FLAGS = {
  limit: { takes: "n", says: "the number of rows to list (50)" },
  all: { takes: null, says: "lists every page" },
} as const satisfies Readonly<Record<string, Flag>>;

type Page<Name extends string, Row> = { readonly total: number } & { readonly [N in Name]: readonly Row[] };

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
  const wanted = isAll ? page.total : (limit ?? 0);
  let rows: readonly Row[] = page[name];
  if (wanted > rows.length && page.total > rows.length) {
    const all: Row[] = [];
    for await (const row of pages) if (all.push(row) >= limitOf(isAll, wanted)) break;
    rows = all;
  }
  output.table(rows === page[name] ? page : { [name]: rows, total: page.total }, rows, columns);
  output.cutOff(rows.length, page.total, isAll ? "" : "; --all lists every page");
};

/** New rows may arrive while the pages are read: --all has no end of its own. */
const limitOf = (isAll: boolean, wanted: number): number => (isAll ? Number.POSITIVE_INFINITY : wanted);
