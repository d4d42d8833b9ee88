// A list in pages: awaited it is the first page, iterated it is every item of every page.

import { MAX_OFFSET } from "../words/values.ts";
import type { CallOptions, QueryOf, Transport } from "./transport.ts";

export interface PageQuery {
  limit: number;
  offset: number;
}

export type Listing<Page, Item> = Promise<Page> & AsyncIterable<Item>;

interface Paged {
  readonly total: number;
  readonly next_cursor?: string | null | undefined;
}

type Position = { readonly offset?: number; readonly cursor?: string };

/** Where the next page begins; null after the last. A cursor reaches further than an offset. */
const positionAfter = (page: Paged, itemCount: number, offset: number): Position | null => {
  if (page.next_cursor === null) return null;
  // A page of the archive may be empty, and not the last.
  if (page.next_cursor !== undefined) return { cursor: page.next_cursor };
  if (itemCount === 0) return null;
  const next = offset + itemCount;
  return next >= page.total || next > MAX_OFFSET ? null : { offset: next };
};

/** `read` fetches one page; `itemsOf` returns its items. */
export const listing = <Query extends QueryOf<PageQuery>, Page extends Paged, Item>(
  query: Query,
  read: (query: Query) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[],
): Listing<Page, Item> => {
  const first = read(query);
  const iterate = async function* (): AsyncGenerator<Item> {
    let offset = query.offset ?? 0;
    for (let page = await first; ; ) {
      const items = itemsOf(page);
      yield* items;
      const next = positionAfter(page, items.length, offset);
      if (next === null) return;
      offset += items.length;
      const { offset: _before, ...filters } = query;
      const readOn = (from: Position) => read({ ...filters, ...from } as unknown as Query);
      const before = page.total;
      page = await readOn(next);
      // Who iterates may delete what was read: the rows behind it have moved up by as many.
      const deleted = before - page.total;
      if (next.offset === undefined || !(deleted > 0)) continue;
      offset = Math.max(query.offset ?? 0, offset - deleted);
      page = await readOn({ offset });
    }
  };
  return Object.assign(first, { [Symbol.asyncIterator]: iterate });
};

/** The list that a path answers with. */
export const listAt = <Query extends QueryOf<PageQuery>, Page extends Paged, Item>(
  transport: Transport,
  path: string,
  query: Query,
  itemsOf: (page: Page) => readonly Item[],
  options?: CallOptions,
): Listing<Page, Item> => listing(query, (asked) => transport.get<Page>(path, options, asked), itemsOf);
