// Where the jobs of a filter are found, in one of three ways: by the full-text index, which intersects what it knows,
// newest or oldest first; by the attempts without a price; or row by row of another index.

import { type JobFilter, MAX_COUNTED } from "../../../contract/jobs/job-list.ts";
import { fromIso } from "../../../contract/words/field.ts";
import type { TenantHistory } from "../tenant-history.ts";
import {
  type Bind,
  binding,
  boundsOf,
  conditionsOf,
  findsIds,
  idSpan,
  NOWHERE,
  ofUnpriced,
  queryOf,
  unknownOf,
  wordsOf,
} from "./conditions.ts";
import { inIndex } from "./known-words.ts";

/** `FROM` and `WHERE` for jobs; `?1` is the tenant, followed by `bindings`. */
export interface Selected {
  readonly from: string;
  readonly where: string;
  readonly bindings: readonly (string | number)[];
  /** A job's row number. */
  readonly seq: string;
  /** The column that gives the order of `from`, which is that of the jobs' creation; null if it has no such order. */
  readonly place: string | null;
}

/** The jobs of a filter. */
export interface JobSelection extends Selected {
  /** The same where only their number is asked for: the index alone, if it knows all that is required. */
  readonly counted: Selected;
}

/** What leads to a filter's jobs. */
export interface Lead {
  readonly by: "index" | "unpriced" | "rows";
  /** The words of a search, each as the index is asked for it. */
  readonly words: readonly string[];
  /** Whether the search is also the beginning of ids. */
  readonly hasIds: boolean;
}

/** Where both words and ids are searched, each gives as many as are needed, the newest or the oldest. */
export interface Nearest {
  readonly limit: number;
  readonly isOldest: boolean;
  /** What is asked of a place in the list. */
  readonly after?: (place: string, bind: Bind) => string;
}

export interface AskedJobs {
  readonly tenant: string;
  readonly filter: JobFilter;
  readonly lead: Lead;
  readonly nearest: Nearest | null;
}

/** By what jobs are found. */
const LEADS: Readonly<Record<Lead["by"], (asked: AskedJobs) => JobSelection>> = {
  /** The full-text index: no row is read but to check what it does not know. */
  index: (asked) => ({ ...ofIndex(asked, true), counted: ofIndex(asked, !isWholeIn(asked.filter)) }),
  /** The attempts without a price, which have an index of their own: each one's job is looked at. */
  unpriced: (asked) => ofRows(asked, UNPRICED_JOBS, besideTold),
  /** Whichever index of jobs fits: each job is looked at. */
  rows: (asked) => ofRows(asked, JOBS, (filter, bind) => conditionsOf(filter).map(({ sql }) => sql(bind, ""))),
};

export const selectionOf = (
  tenant: string,
  filter: JobFilter,
  lead: Lead,
  nearest: Nearest | null = null,
): JobSelection => LEADS[lead.by]({ tenant, filter, lead, nearest });

export const leadOf = async (history: TenantHistory, filter: JobFilter): Promise<Lead> => {
  const [hasIds, found] = await Promise.all([findsIds(history, filter), inIndex(history.db, wordsOf(filter))]);
  const words = filter.q !== undefined && found.length === 0 ? [NOWHERE] : found;
  const isKnown = filter.q !== undefined || conditionsOf(filter).some(({ term }) => term !== null);
  const lead: Lead = { by: isKnown ? "index" : "rows", words, hasIds };
  const { unpriced, unpriced_since, unpriced_until, ...others } = filter;
  if (unpriced !== "true" && unpriced_since === undefined && unpriced_until === undefined) return lead;
  const areMany = async (counted: Selected): Promise<boolean> =>
    ((await countOf(history, counted).first<number>("total")) ?? 0) > MAX_COUNTED;
  // Each job that the lead finds is looked at: many unpriced ones do not lead if the other conditions find few.
  const isByOthers = (await areMany(UNPRICED)) && !(await areMany(selectionOf(history.tenant, others, lead).counted));
  return isByOthers ? lead : { ...lead, by: "unpriced" };
};

/** How many jobs match, as `total`; stops counting one above the limit, if there is one. */
export const countOf = (
  history: TenantHistory,
  { from, where, bindings }: Selected,
  limit: number | null = MAX_COUNTED,
): D1PreparedStatement => {
  const matching = `FROM ${from} WHERE ${where}`;
  const counted = limit === null ? matching : `FROM (SELECT 1 ${matching} LIMIT ${limit + 1})`;
  return history.statement(`SELECT COUNT(*) AS total ${counted}`, ...bindings);
};

/** Whether an index alone finds a filter's jobs, in the order of their creation. */
export const isOfIndex = ({ filter, lead: { by, hasIds } }: AskedJobs): boolean =>
  by === "unpriced" || (by === "index" && !hasIds && unknownOf(filter).length === 0);

/**
 * Whether the full-text index alone counts a filter's jobs. A span of time is one of row numbers, so no row is read to
 * look at its time: ten thousand lie far apart in a long history, and a cold disk reads each of them by itself.
 */
const isWholeIn = (filter: JobFilter): boolean =>
  unknownOf(filter).length === [filter.since, filter.until].filter((at) => at !== undefined).length;

export const IN_INDEX = { from: "job_terms", seq: "job_terms.rowid", place: "job_terms.rowid" };
const IN_UNION = { seq: "found.place", place: "found.place" };
const withJobs = ({ from, seq }: Pick<Selected, "from" | "seq">): string =>
  `${from} CROSS JOIN jobs ON jobs.seq = ${seq}`;

/** One question to the full-text index. */
export interface Match {
  readonly query: string;
  /** Whether all of a tenant's jobs are asked for. */
  readonly isOfAll: boolean;
  /** Between which row numbers. */
  readonly bounds: (seq: string) => string[];
  /** The span of ids once more, as conditions on the rows of jobs. */
  readonly isWithin: readonly string[];
}

/** By words, and by ids where the search begins any. */
export const matchesOf = ({ tenant, filter, lead: { words, hasIds } }: AskedJobs, bind: Bind): [Match, ...Match[]] => {
  const inTime = (seq: string): string[] => boundsOf(filter, seq, bind);
  const byWords = { query: queryOf(tenant, filter, words), isOfAll: false, bounds: inTime, isWithin: [] };
  if (!hasIds) return [byWords];
  const { isWithin, bounds } = idSpan(filter, bind);
  const query = queryOf(tenant, filter, []);
  const isOfAll = query === queryOf(tenant, {}, []);
  return [byWords, { query, isOfAll, bounds: (seq) => [...inTime(seq), ...bounds(seq)], isWithin: [isWithin] }];
};

/** `isChecked`: with the rows of jobs, and what the index does not know. */
const ofIndex = (asked: AskedJobs, isChecked: boolean): Selected => {
  const { bindings, bind } = binding();
  const checks = isChecked ? unknownOf(asked.filter).map(({ sql }) => sql(bind, "")) : [];
  const isFound = ({ query, bounds }: Match): string[] => [`job_terms MATCH ${bind(query)}`, ...bounds(IN_INDEX.seq)];
  const [byWords, ...byIds] = matchesOf(asked, bind);
  if (byIds.length === 0) {
    const where = [...isFound(byWords), ...(isChecked ? ["jobs.tenant = ?1"] : []), ...checks].join(" AND ");
    return { ...IN_INDEX, from: isChecked ? withJobs(IN_INDEX) : IN_INDEX.from, where, bindings };
  }
  const nearestOf = (match: Match): string => {
    const checked = isChecked ? [...match.isWithin, ...checks] : [];
    const after = asked.nearest?.after === undefined ? [] : [asked.nearest.after(IN_INDEX.place, bind)];
    const most = asked.nearest === null ? "" : nearestIn(IN_INDEX, asked.nearest);
    const from = checked.length === 0 ? IN_INDEX.from : withJobs(IN_INDEX);
    return `SELECT place FROM (SELECT ${IN_INDEX.seq} AS place FROM ${from}
      WHERE ${[...isFound(match), ...checked, ...after].join(" AND ")} ${most})`;
  };
  const selected = { ...IN_UNION, from: `(${[byWords, ...byIds].map(nearestOf).join(" UNION ")}) AS found`, bindings };
  return isChecked
    ? { ...selected, from: withJobs(selected), where: "jobs.tenant = ?1" }
    : { ...selected, where: "true" };
};

export const nearestIn = ({ place }: Pick<Selected, "place">, { isOldest, limit }: Nearest): string =>
  `ORDER BY ${place} ${isOldest ? "ASC" : "DESC"} LIMIT ${limit}`;

const JOBS: Omit<Selected, "bindings"> = { from: "jobs", where: "jobs.tenant = ?1", seq: "jobs.seq", place: null };

export const UNPRICED_PLACE = "told.job_id";
const UNPRICED: Selected = {
  from: "attempts AS told INDEXED BY attempts_unpriced",
  where: "told.tenant = ?1 AND told.nano_usd IS NULL",
  bindings: [],
  seq: "jobs.seq",
  place: UNPRICED_PLACE,
};

/** Their jobs, each once, in the order of their ids, which is that of their creation. */
const UNPRICED_JOBS: Selected = {
  ...UNPRICED,
  from: `${UNPRICED.from} CROSS JOIN jobs ON jobs.tenant = ?1 AND jobs.id = told.job_id`,
  where: `${UNPRICED.where} AND told.lease = ${ofUnpriced("lease")}`,
};

/** By an index of rows, each of which is looked at. */
const ofRows = (
  { tenant, filter, lead }: AskedJobs,
  source: Omit<Selected, "bindings">,
  askedOf: (filter: JobFilter, bind: Bind) => string[],
): JobSelection => {
  const { bindings, bind } = binding();
  const asked = askedOf(filter, bind);
  if (filter.q !== undefined) {
    const ids = lead.hasIds ? `${idSpan(filter, bind).isWithin} OR ` : "";
    const query = bind(queryOf(tenant, filter, lead.words));
    asked.push(`(${ids}+jobs.seq IN (SELECT rowid FROM job_terms WHERE job_terms MATCH ${query}))`);
  }
  const selected = { ...source, where: [source.where, ...asked].join(" AND "), bindings };
  return { ...selected, counted: selected };
};

/** A filter's conditions beside `unpriced`; `unpriced_since` and `unpriced_until` are asked of the attempt. */
const besideTold = (filter: JobFilter, bind: Bind): string[] => {
  const { unpriced, unpriced_since, unpriced_until, ...others } = filter;
  return [
    ...conditionsOf({ ...others, ...(unpriced === "false" ? { unpriced } : {}) }).map(({ sql }) => sql(bind, "+")),
    ...(unpriced_since === undefined ? [] : [`told.at >= ${bind(fromIso(unpriced_since))}`]),
    ...(unpriced_until === undefined ? [] : [`told.at < ${bind(fromIso(unpriced_until))}`]),
  ];
};
