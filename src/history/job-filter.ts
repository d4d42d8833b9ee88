// A job filter as SQL, in one of two ways: led by the full-text index, which intersects what it knows of jobs (labels,
// status, worker, words), newest or oldest first; or row by row of another one. User text is never part
// of a pattern: it is in hexadecimal digits or a quoted word, and the beginning of an id is a range.

import { type JobFilter, type jobFilter, MAX_COUNTED, metadataOf } from "../../contract/jobs/job-list.ts";
import { fromIso } from "../../contract/words/field.ts";
import { searchTermsOf } from "../../domain/job/search.ts";
import { hexOf } from "../../domain/words/hex.ts";
import { inIndex } from "./known-words.ts";

/** `FROM` and `WHERE` for the jobs of a filter; `?1` is the tenant, followed by `bindings`. */
export interface JobSelection {
  readonly from: string;
  readonly where: string;
  readonly bindings: readonly (string | number)[];
  /** The same where only their number is asked for: the index alone, if it knows all that is required. */
  readonly counted: Omit<JobSelection, "counted">;
}

type Bind = (value: string | number) => string;

/** What a filter requires of a job. */
interface Condition {
  /** What the index has of such a job; null: it does not know. */
  readonly term: ((tenant: string) => string) | null;
  /** `plus` stands before a column whose index must not be taken. */
  readonly sql: (bind: Bind, plus: "" | "+") => string;
}

const hex = (text: string): string => hexOf(new TextEncoder().encode(text));

/** As the view `job_documents` makes them. */
const SIGN = "\u00a7";
const tenantTerm = (tenant: string): string => `"${SIGN}${hex(tenant)}"`;
const termOf =
  (mark: string, value: string) =>
  (tenant: string): string =>
    `"${SIGN}${hex(tenant)}${mark}${hex(value)}"`;

const label =
  (name: string) =>
  (value: string): Condition => ({
    term: termOf(`x${hex(name)}x`, value),
    sql: (bind) =>
      `EXISTS (SELECT 1 FROM json_each(jobs.labels) WHERE value ->> 0 = ${bind(name)} AND value ->> 1 = ${bind(value)})`,
  });

const column =
  (name: string, mark: string) =>
  (value: string): Condition => ({
    term: termOf(mark, value),
    sql: (bind) => `+jobs.${name} = ${bind(value)}`,
  });

/** Not every runtime has error codes: a number also matches the HTTP status of the error. */
const errorCode = (value: string): Condition => ({
  term: termOf("y", value),
  sql: (bind) =>
    `(+jobs.error_code = ${bind(value)} OR jobs.record ->> '$.error.status' = CAST(${bind(value)} AS INTEGER))`,
});

const rowOnly = (sql: Condition["sql"]): Condition => ({ term: null, sql });

/** Of a job's first attempt without a price; nothing if it has none. */
const ofUnpriced = (column: string): string => `(SELECT ${column} FROM attempts
  WHERE attempts.tenant = ?1 AND attempts.job_id = jobs.id AND attempts.nano_usd IS NULL ORDER BY lease LIMIT 1)`;

/** When the cost counts the job as unpriced. */
const UNPRICED_AT = ofUnpriced("at");

const UNPRICED = {
  from: "attempts AS told INDEXED BY attempts_unpriced",
  where: "told.tenant = ?1 AND told.nano_usd IS NULL",
  bindings: [],
};

/** Their jobs, each once, in the order of their ids, which is that of their creation. */
const UNPRICED_JOBS = {
  from: `${UNPRICED.from} CROSS JOIN jobs ON jobs.tenant = ?1 AND jobs.id = told.job_id`,
  where: `${UNPRICED.where} AND told.lease = ${ofUnpriced("lease")}`,
};

type JobFilterName = keyof typeof jobFilter.shape;

/** Every name that a filter may have. */
const PARTS = {
  batch: label("batch"),
  tag: label("tag"),
  model: label("model"),
  ran_provider: column("ran_provider", "r"),
  provider: label("provider"),
  error_code: errorCode,
  schedule: column("schedule", "h"),
  worker: column("worker", "w"),
  key: column("key_id", "k"),
  status: column("status", "s"),
  since: (value) => rowOnly((bind, plus) => `${plus}jobs.created_at >= ${bind(fromIso(value))}`),
  until: (value) => rowOnly((bind, plus) => `${plus}jobs.created_at < ${bind(fromIso(value))}`),
  unpriced_since: (value) => rowOnly((bind) => `${UNPRICED_AT} >= ${bind(fromIso(value))}`),
  unpriced_until: (value) => rowOnly((bind) => `${UNPRICED_AT} < ${bind(fromIso(value))}`),
  unpriced: (value) => rowOnly(() => `${value === "true" ? "" : "NOT "}EXISTS ${ofUnpriced("1")}`),
} as const satisfies Record<Exclude<JobFilterName, "q">, (value: string) => Condition>;

const conditionsOf = (filter: JobFilter): Condition[] => [
  ...metadataOf(filter).map(([name, value]) => label(`metadata.${name}`)(value)),
  ...(Object.keys(PARTS) as (keyof typeof PARTS)[]).flatMap((name) => {
    const value = filter[name];
    return value === undefined ? [] : [PARTS[name](value)];
  }),
];

/** The bounds of a creation time as bounds of row numbers, which the index can begin and end at. */
const boundsOf = ({ since, until }: JobFilter, bind: Bind): string[] => {
  const place = (past: string, value: string, order: string): string =>
    `(SELECT seq FROM jobs WHERE tenant = ?1 AND created_at ${past} ${bind(fromIso(value))} ORDER BY ${order} LIMIT 1)`;
  return [
    ...(since === undefined ? [] : [`job_terms.rowid >= ${place(">=", since, "created_at, seq")}`]),
    ...(until === undefined ? [] : [`job_terms.rowid <= ${place("<", until, "created_at DESC, seq DESC")}`]),
  ];
};

const wordsOf = ({ q }: JobFilter): string[] => (q === undefined ? [] : searchTermsOf(q));

/** Sorts after every character of an id. */
const PAST_IDS = "~";
const ID_BEGINNING = /^[0-9a-z-]+$/;

const idRange = (q: string, bind: Bind): string => {
  const beginning = bind(q.trim().toLowerCase());
  return `SELECT seq FROM jobs WHERE tenant = ?1 AND id >= ${beginning} AND id < ${beginning} || '${PAST_IDS}'`;
};

/** How many jobs match, as `total`; stops counting one above the limit. */
export const countOf = (
  db: D1Database,
  tenant: string,
  { from, where, bindings }: Omit<JobSelection, "counted">,
  limit = MAX_COUNTED,
): D1PreparedStatement => {
  const some = `SELECT 1 FROM ${from} WHERE ${where} LIMIT ${limit + 1}`;
  return db.prepare(`SELECT COUNT(*) AS total FROM (${some})`).bind(tenant, ...bindings);
};

/** Whether a search is also the beginning of a job's id: then the index alone does not find all. */
const findsIds = async (db: D1Database, tenant: string, { q }: JobFilter): Promise<boolean> => {
  if (q === undefined || !ID_BEGINNING.test(q.trim().toLowerCase())) return false;
  const bindings: (string | number)[] = [];
  const sql = idRange(q, (value) => `?${bindings.push(value) + 1}`);
  return (
    (await db
      .prepare(`${sql} LIMIT 1`)
      .bind(tenant, ...bindings)
      .first()) !== null
  );
};

/**
 * `ids`: by what a search found, which may be beginnings of ids. `unpriced`: by the attempts without a price, which have
 * an index of their own. `rows`: by whichever index of jobs fits. `order`: as the list is ordered by another value than
 * creation, until there are enough. `found`: the same, but of these only the rows that the index finds are read.
 */
export type Lead = "index" | "ids" | "unpriced" | "rows" | "order" | "found";

/** How the jobs of a filter are found. */
export interface Way {
  readonly lead: Lead;
  /** The words of a search, each as the index is asked for it. */
  readonly words: readonly string[];
}

export const wayTo = async (db: D1Database, tenant: string, filter: JobFilter): Promise<Way> => {
  const [hasIds, words] = await Promise.all([findsIds(db, tenant, filter), inIndex(db, wordsOf(filter))]);
  const way: Way = { lead: leadKnowing(filter, hasIds), words };
  const { unpriced, ...others } = filter;
  if (unpriced !== "true") return way;
  const areMany = async (counted: Omit<JobSelection, "counted">): Promise<boolean> =>
    ((await countOf(db, tenant, counted).first<number>("total")) ?? 0) > MAX_COUNTED;
  // Of the fewer, each job is looked at.
  const isByOthers = (await areMany(UNPRICED)) && !(await areMany(selectionOf(tenant, others, way).counted));
  return isByOthers ? way : { ...way, lead: "unpriced" };
};

/** Whether the index knows anything of what a filter requires. */
const leadKnowing = (filter: JobFilter, hasIds: boolean): Lead => {
  if (filter.q !== undefined && (hasIds || wordsOf(filter).length === 0)) return "ids";
  return filter.q !== undefined || conditionsOf(filter).some(({ term }) => term !== null) ? "index" : "rows";
};

export const selectionOf = (tenant: string, filter: JobFilter, { lead, words }: Way): JobSelection => {
  const bindings: (string | number)[] = [];
  const bind: Bind = (value) => `?${bindings.push(value) + 1}`;
  const conditions = conditionsOf(filter);
  const terms = conditions.flatMap(({ term }) => (term === null ? [] : [term(tenant)]));
  // Each of them names the tenant.
  const known = terms.length === 0 ? [tenantTerm(tenant)] : terms;
  const query = [...known, ...words].join(" AND ");
  if (lead !== "index") {
    const plus = lead === "rows" ? "" : "+";
    const ofTenant = { from: "jobs", where: `${lead === "ids" ? "+" : ""}jobs.tenant = ?1` };
    const byIndex = lead === "found" || words.length > 0 ? query : null;
    const searched = filter.q === undefined && lead !== "found" ? [] : [foundRows(filter, byIndex, lead, bind)];
    const { from, where } = lead === "unpriced" ? UNPRICED_JOBS : ofTenant;
    const asked = conditions.map(({ sql }) => sql(bind, plus));
    const selected = { from, where: [where, ...asked, ...searched].join(" AND "), bindings };
    return { ...selected, counted: selected };
  }
  const isFound = `job_terms MATCH ${bind(query)}`;
  const bounds = boundsOf(filter, bind);
  const ofIndex = { from: "job_terms", where: [isFound, ...bounds].join(" AND "), bindings: [...bindings] };
  const checked = conditions.filter(({ term }) => term === null).map(({ sql }) => sql(bind, ""));
  const where = [ofIndex.where, "jobs.tenant = ?1", ...checked].join(" AND ");
  const selected = { from: "job_terms CROSS JOIN jobs ON jobs.seq = job_terms.rowid", where, bindings };
  // A span of time is one of row numbers, so no row is read to look at its time: ten thousand lie far apart in a long
  // history, and a cold disk reads each of them by itself.
  return { ...selected, counted: checked.length > bounds.length ? selected : ofIndex };
};

/** Jobs whose id begins with the text, or that the index finds; where the list's order leads, these are only compared. */
const foundRows = ({ q }: JobFilter, query: string | null, lead: Lead, bind: Bind): string => {
  const byIndex = query === null ? [] : [`SELECT rowid FROM job_terms WHERE job_terms MATCH ${bind(query)}`];
  const byId = q === undefined ? [] : [idRange(q, bind)];
  return `${lead === "ids" ? "" : "+"}jobs.seq IN (${[...byIndex, ...byId].join(" UNION ALL ")})`;
};
