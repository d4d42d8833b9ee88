// Whether a page of a list by end or cost is found among the jobs that are first in that order.

import type { JobListQuery } from "../../../contract/jobs/job-list.ts";
import type { TenantHistory } from "../tenant-history.ts";
import { type Bind, binding } from "./conditions.ts";
import { inOrder, inOrderOfIndex, type Span } from "./in-order.ts";
import { afterCursor, columnOf, orderOf } from "./order.ts";
import type { AskedJobs, Selected } from "./selection.ts";

/** So many jobs are looked at for each of the page; more take longer than other ways do. */
const LOOKED_AT = 40;
const MAX_LOOKED_AT = 5_000;
/** Where their row numbers lie no farther apart, the index is asked which of them match; it reads at most so many. */
const MAX_SPAN = 250_000;

interface Looking extends AskedJobs {
  readonly history: TenantHistory;
  readonly query: JobListQuery;
}

/** What the page is found in; null: it is not soon. */
export const soonFound = async (looking: Looking): Promise<Selected | null> => {
  const { query } = looking;
  if (wantedOf(query) > MAX_LOOKED_AT) return null;
  const selected = query.q === undefined ? inOrder(looking) : await ofSearch(looking);
  return selected !== null && (await areEnough(looking, selected)) ? selected : null;
};

/** A row does not say which words it has: of a search the index is asked. */
const ofSearch = async (looking: Looking): Promise<Selected | null> => {
  const { history, query, lead } = looking;
  if (lead.by !== "index") return null;
  const { bindings, bind } = binding();
  const sql = `SELECT MIN(place) AS least, MAX(place) AS most FROM (${first(query, bind)})`;
  const span = await history.statement(sql, ...bindings).first<Span>();
  return span !== null && span.most - span.least <= MAX_SPAN ? inOrderOfIndex(looking, span) : null;
};

const wantedOf = ({ offset, limit }: JobListQuery): number => offset + limit + 1;

const first = (query: JobListQuery, bind: Bind): string =>
  `SELECT jobs.seq AS place FROM jobs WHERE jobs.tenant = ?1 ${afterCursor(query, null, bind)}
    ORDER BY ${orderOf(query, columnOf(query), "jobs.seq")} LIMIT ${Math.min(wantedOf(query) * LOOKED_AT, MAX_LOOKED_AT)}`;

const areEnough = async ({ history, query }: Looking, { where, bindings: asked }: Selected): Promise<boolean> => {
  const { bindings, bind } = binding(asked);
  const wanted = wantedOf(query);
  const sql = `SELECT COUNT(*) AS total FROM (SELECT 1 FROM (${first(query, bind)}) AS looked_at
    CROSS JOIN jobs ON jobs.seq = looked_at.place WHERE ${where} LIMIT ${wanted})`;
  return (await history.statement(sql, ...bindings).first<number>("total")) === wanted;
};
