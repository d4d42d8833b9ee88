// The ways in which a list is read, as a table: the first that applies is taken. Above each stands what it reads.
//
// What the full-text index finds is in the order of creation, as jobs are. In another order few jobs are sorted; of many,
// a page is found sooner by going through an index that has this order.

import { type JobListQuery, MAX_COUNTED } from "../../../contract/jobs/job-list.ts";
import { readCursor } from "../job-cursor.ts";
import { readPage } from "../page.ts";
import type { TenantHistory } from "../tenant-history.ts";
import { inOrder, inOrderOfIndex, inOrderOfUnpriced } from "./in-order.ts";
import { afterPlace, isAscending, sortOf } from "./order.ts";
import { type ListedRow, pageStatement } from "./page-statement.ts";
import {
  type AskedJobs,
  countOf,
  isOfIndex,
  type JobSelection,
  leadOf,
  type Nearest,
  type Selected,
  selectionOf,
} from "./selection.ts";
import { soonFound } from "./soon-found.ts";

interface Listed {
  readonly rows: readonly ListedRow[];
  readonly total: number;
}

interface List extends AskedJobs {
  readonly history: TenantHistory;
  readonly query: JobListQuery;
  /** The newest, one more than are counted. */
  readonly newest: JobSelection;
  readonly count: D1PreparedStatement;
  /** Counted once. */
  readonly total: () => Promise<number>;
}

/** Null: the next way is taken. */
type Read = (list: List) => Promise<Listed | null>;
/** What a page is read of. */
type Source = (list: List) => Selected;

interface Way {
  readonly applies: (list: List) => boolean | Promise<boolean>;
  readonly read: Read;
}

const countAlone: Read = async ({ total }) => ({ rows: [], total: await total() });

/** In one statement: what is found is gone through once, for the page and the count. */
const withCount =
  (source: Source): Read =>
  async (list) => {
    const { history, query, total } = list;
    const page = pageStatement(history, query, source(list), true);
    const { results: rows } = await page.all<ListedRow & { total: number }>();
    return { rows, total: rows[0]?.total ?? (query.offset === 0 ? 0 : await total()) };
  };

const besideCount =
  (source: Source): Read =>
  (list) =>
    readPage<ListedRow>(list.history, pageStatement(list.history, list.query, source(list)), list.count);

/** Whether the way applies, depends on the count. */
const afterCount =
  (source: (list: List) => Selected | Promise<Selected | null>): Read =>
  async (list) => {
    const total = await list.total();
    const selected = await source(list);
    if (selected === null) return null;
    const page = pageStatement(list.history, list.query, selected);
    return { rows: (await page.all<ListedRow>()).results, total };
  };

const isByCreation = ({ query }: List): boolean => sortOf(query) === "created_at";
const isOfTime = ({ query }: List): boolean => query.since !== undefined || query.until !== undefined;

/** What is shown and skipped, and one more, which tells whether there is a next page. */
const shown: Source = ({ tenant, query, lead }) => {
  const nearest = { limit: query.offset + query.limit + 1, isOldest: isAscending(query) };
  if (query.cursor === undefined) return selectionOf(tenant, query, lead, nearest);
  const place = readCursor(query.sort, query.cursor);
  return selectionOf(tenant, query, lead, { ...nearest, after: (of, bind) => afterPlace(place, query, of, bind) });
};

/** Of a list by end or cost so many jobs are compared: the newest, or the oldest if these are first. */
const MAX_COMPARED = 250_000;
const compared = ({ query }: List): Nearest => ({ limit: MAX_COMPARED, isOldest: query.sort === "-finished_at" });

const WAYS: readonly Way[] = [
  // As many entries as are counted.
  { applies: ({ query }) => query.count_only !== undefined, read: countAlone },

  // By creation. As many entries as are counted, and the rows of the page:
  {
    applies: (list) => isByCreation(list) && list.query.cursor === undefined && isOfIndex(list),
    read: withCount(({ newest }) => newest.counted),
  },
  // Entries until the page is full, with the row of each where the index does not know all that is asked:
  { applies: isByCreation, read: besideCount(shown) },

  // By end or cost. Rows in that order until the page is full:
  { applies: (list) => list.lead.by === "rows" && !isOfTime(list), read: besideCount(inOrder) },
  // The rows of all that match, at most as many as are counted, to sort them:
  { applies: async ({ total }) => (await total()) <= MAX_COUNTED, read: afterCount(({ newest }) => newest) },
  // Entries in that order until the page is full, and the rows of those in the span of time:
  { applies: ({ lead }) => lead.by === "rows", read: afterCount(inOrder) },
  // The rows that are first in that order, some for each of the page; if they do not fill it, the next way does:
  { applies: () => true, read: afterCount(soonFound) },
  // Entries in that order until the page is full, compared with a bounded number of those that match:
  { applies: ({ lead }) => lead.by === "index", read: afterCount((list) => inOrderOfIndex(list, compared(list))) },
  {
    applies: ({ lead }) => lead.by === "unpriced",
    read: afterCount((list) => inOrderOfUnpriced(list, compared(list))),
  },
];

/** The rows of a page, and how many jobs match, up to one more than are counted. */
export const readList = async (history: TenantHistory, query: JobListQuery): Promise<Listed> => {
  const list = await listOf(history, query);
  for (const { applies, read } of WAYS) {
    const listed = (await applies(list)) ? await read(list) : null;
    if (listed !== null) return listed;
  }
  throw new Error("no way applies to a list");
};

const listOf = async (history: TenantHistory, query: JobListQuery): Promise<List> => {
  const lead = await leadOf(history, query);
  const newest = selectionOf(history.tenant, query, lead, { limit: MAX_COUNTED + 1, isOldest: false });
  const count = countOf(history, newest.counted);
  let total: Promise<number> | undefined;
  const counted = async (): Promise<number> => (await count.first<number>("total")) ?? 0;
  return {
    ...{ history, tenant: history.tenant, query, filter: query, lead, nearest: null, newest, count },
    total: () => (total ??= counted()),
  };
};
