// A job filter as SQL, in one of two ways: led by the full-text index, which intersects what it knows of jobs (labels,
// status, worker, words), newest or oldest first; or row by row of another one. User text is never part
// of a pattern: it is in hexadecimal digits or a quoted word, and the beginning of an id is a range.

import { type JobFilter, type jobFilter, MAX_COUNTED, metadataOf } from "../../contract/jobs/job-list.ts";
import { fromIso } from "../../contract/words/field.ts";
import { searchTermsOf } from "../../domain/job/search.ts";
import { hexOf } from "../../domain/words/hex.ts";
import { inIndex } from "./known-words.ts";

/** `FROM` and `WHERE` for jobs; `?1` is the tenant, followed by `bindings`. */
export interface Selected {
  readonly from: string;
  readonly where: string;
  readonly bindings: readonly (string | number)[];
  /** A job's row number. */
  readonly seq: string;
  /** What `from` has jobs in the order of, which is that of their creation; null: nothing. */
  readonly place: string | null;
}

/** The jobs of a filter. */
export interface JobSelection extends Selected {
  /** The same where only their number is asked for: the index alone, if it knows all that is required. */
  readonly counted: Selected;
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

const STATUS = "s";

/** As a word of a search: the job has one of these statuses. */
export const statusWord = (tenant: string, statuses: readonly string[]): string =>
  `(${statuses.map((status) => termOf(STATUS, status)(tenant)).join(" OR ")})`;

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
  status: column("status", STATUS),
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

const placeOf = (condition: string, order: string): string =>
  `(SELECT seq FROM jobs WHERE tenant = ?1 AND ${condition} ORDER BY ${order} LIMIT 1)`;

/** The bounds of a creation time as bounds of row numbers, which the index can begin and end at. */
const boundsOf = ({ since, until }: JobFilter, seq: string, bind: Bind): string[] => {
  const bound = (sign: string, past: string, value: string, order: string): string =>
    `${seq} ${sign} ${placeOf(`created_at ${past} ${bind(fromIso(value))}`, order)}`;
  return [
    ...(since === undefined ? [] : [bound(">=", ">=", since, "created_at, seq")]),
    ...(until === undefined ? [] : [bound("<=", "<", until, "created_at DESC, seq DESC")]),
  ];
};

const wordsOf = ({ q }: JobFilter): string[] => (q === undefined ? [] : searchTermsOf(q));

/** Sorts after every character of an id. */
const PAST_IDS = "~";
const ID_BEGINNING = /^[0-9a-z-]+$/;
/** No word of a text, so that no job has it. */
const NOWHERE = `"${SIGN}"`;

/** Ids grow with the time, as row numbers do: those with one beginning are a span. */
const idSpan = (q: string, bind: Bind): { isWithin: string; bounds: string[] } => {
  const beginning = bind(q.trim().toLowerCase());
  const [least, end] = [`id >= ${beginning}`, `id < ${beginning} || '${PAST_IDS}'`];
  const bounds = [`job_terms.rowid >= ${placeOf(least, "id")}`, `job_terms.rowid <= ${placeOf(end, "id DESC")}`];
  return { isWithin: `jobs.${least} AND jobs.${end}`, bounds };
};

/** How many jobs match, as `total`; stops counting one above the limit. */
export const countOf = (
  db: D1Database,
  tenant: string,
  { from, where, bindings }: Selected,
  limit = MAX_COUNTED,
): D1PreparedStatement => {
  const some = `SELECT 1 FROM ${from} WHERE ${where} LIMIT ${limit + 1}`;
  return db.prepare(`SELECT COUNT(*) AS total FROM (${some})`).bind(tenant, ...bindings);
};

/** Whether a search is also the beginning of a job's id: then words alone do not find all. */
const findsIds = async (db: D1Database, tenant: string, { q }: JobFilter): Promise<boolean> => {
  const beginning = q?.trim().toLowerCase() ?? "";
  if (!ID_BEGINNING.test(beginning)) return false;
  const sql = `SELECT 1 FROM jobs WHERE tenant = ?1 AND id >= ?2 AND id < ?2 || '${PAST_IDS}' LIMIT 1`;
  return (await db.prepare(sql).bind(tenant, beginning).first()) !== null;
};

/**
 * `index`: by the full-text index. `unpriced`: by the attempts without a price, which have an index of their own.
 * `rows`: by whichever index of jobs fits.
 */
type Lead = "index" | "unpriced" | "rows";

/** How the jobs of a filter are found. */
export interface Way {
  readonly lead: Lead;
  /** The words of a search, each as the index is asked for it. */
  readonly words: readonly string[];
  /** Whether the search is also the beginning of ids. */
  readonly hasIds: boolean;
}

export const wayTo = async (db: D1Database, tenant: string, filter: JobFilter): Promise<Way> => {
  const [hasIds, found] = await Promise.all([findsIds(db, tenant, filter), inIndex(db, wordsOf(filter))]);
  const words = filter.q !== undefined && found.length === 0 ? [NOWHERE] : found;
  const isKnown = filter.q !== undefined || conditionsOf(filter).some(({ term }) => term !== null);
  const way: Way = { lead: isKnown ? "index" : "rows", words, hasIds };
  const { unpriced, unpriced_since, unpriced_until, ...others } = filter;
  if (unpriced !== "true" && unpriced_since === undefined && unpriced_until === undefined) return way;
  const areMany = async (counted: Selected): Promise<boolean> =>
    ((await countOf(db, tenant, counted).first<number>("total")) ?? 0) > MAX_COUNTED;
  // Of the fewer, each job is looked at.
  const isByOthers = (await areMany(UNPRICED)) && !(await areMany(selectionOf(tenant, others, way).counted));
  return isByOthers ? way : { ...way, lead: "unpriced" };
};

/** Where both words and ids are searched, each gives as many as are needed, the newest or the oldest. */
export interface Nearest {
  readonly limit: number;
  readonly isOldest: boolean;
  /** What is asked of a place in the list. */
  readonly after?: (place: string, bind: Bind) => string;
}

export const selectionOf = (
  tenant: string,
  filter: JobFilter,
  way: Way,
  nearest: Nearest | null = null,
): JobSelection => {
  if (way.lead !== "index") {
    const selected = ofRows(tenant, filter, way);
    return { ...selected, counted: selected };
  }
  const selected = ofIndex(tenant, filter, way, nearest, true);
  // A span of time is one of row numbers, so no row is read to look at its time: ten thousand lie far apart in a long
  // history, and a cold disk reads each of them by itself.
  const isKnown = unknownOf(filter).length === [filter.since, filter.until].filter((at) => at !== undefined).length;
  return { ...selected, counted: isKnown ? ofIndex(tenant, filter, way, nearest, false) : selected };
};

/** Whether an index alone finds a filter's jobs, in the order of their creation. */
export const isOfIndex = (filter: JobFilter, { lead, hasIds }: Way): boolean =>
  lead === "unpriced" || (lead === "index" && !hasIds && unknownOf(filter).length === 0);

/** What the index does not know. */
const unknownOf = (filter: JobFilter): Condition[] => conditionsOf(filter).filter(({ term }) => term === null);

const queryOf = (tenant: string, filter: JobFilter, words: readonly string[]): string => {
  const terms = conditionsOf(filter).flatMap(({ term }) => (term === null ? [] : [term(tenant)]));
  // Each of them names the tenant.
  return [...(terms.length === 0 ? [tenantTerm(tenant)] : terms), ...words].join(" AND ");
};

const IN_INDEX = { from: "job_terms", seq: "job_terms.rowid", place: "job_terms.rowid" };
const IN_UNION = { seq: "found.place", place: "found.place" };
const withJobs = ({ from, seq }: Pick<Selected, "from" | "seq">): string =>
  `${from} CROSS JOIN jobs ON jobs.seq = ${seq}`;

/** `isChecked`: with the rows of jobs, and what the index does not know. */
const ofIndex = (
  tenant: string,
  filter: JobFilter,
  { words, hasIds }: Way,
  nearest: Nearest | null,
  isChecked: boolean,
): Selected => {
  const bindings: (string | number)[] = [];
  const bind: Bind = (value) => `?${bindings.push(value) + 1}`;
  const found = (asked: readonly string[]): string[] => [
    `job_terms MATCH ${bind(queryOf(tenant, filter, asked))}`,
    ...boundsOf(filter, IN_INDEX.seq, bind),
  ];
  const checks = isChecked ? unknownOf(filter).map(({ sql }) => sql(bind, "")) : [];
  const byWords = found(words);
  if (!hasIds) {
    const where = [...byWords, ...(isChecked ? ["jobs.tenant = ?1"] : []), ...checks].join(" AND ");
    return { ...IN_INDEX, from: isChecked ? withJobs(IN_INDEX) : IN_INDEX.from, where, bindings };
  }
  const ids = idSpan(filter.q ?? "", bind);
  const part = (where: readonly string[], checked: readonly string[]): string => {
    const after = nearest?.after === undefined ? [] : [nearest.after(IN_INDEX.place, bind)];
    const most = nearest === null ? "" : nearestIn(IN_INDEX, nearest);
    const from = checked.length === 0 ? IN_INDEX.from : withJobs(IN_INDEX);
    return `SELECT place FROM (SELECT ${IN_INDEX.seq} AS place FROM ${from}
      WHERE ${[...where, ...checked, ...after].join(" AND ")} ${most})`;
  };
  const byIds = [...found([]), ...ids.bounds];
  const from = `(${part(byWords, checks)} UNION ${part(byIds, isChecked ? [ids.isWithin, ...checks] : [])}) AS found`;
  const selected = { ...IN_UNION, from, bindings };
  return isChecked
    ? { ...selected, from: withJobs(selected), where: "jobs.tenant = ?1" }
    : { ...selected, where: "true" };
};

const nearestIn = ({ place }: Pick<Selected, "place">, { isOldest, limit }: Nearest): string =>
  `ORDER BY ${place} ${isOldest ? "ASC" : "DESC"} LIMIT ${limit}`;

/** By an index of rows, each of which is looked at. */
const ofRows = (tenant: string, filter: JobFilter, way: Way): Selected => {
  const bindings: (string | number)[] = [];
  const bind: Bind = (value) => `?${bindings.push(value) + 1}`;
  const isUnpriced = way.lead === "unpriced";
  const lead = isUnpriced ? UNPRICED_JOBS : { from: "jobs", where: "jobs.tenant = ?1", seq: "jobs.seq", place: null };
  const asked = isUnpriced ? ofTold(filter, bind) : conditionsOf(filter).map(({ sql }) => sql(bind, ""));
  if (filter.q !== undefined) {
    const ids = way.hasIds ? `${idSpan(filter.q, bind).isWithin} OR ` : "";
    const query = bind(queryOf(tenant, filter, way.words));
    asked.push(`(${ids}+jobs.seq IN (SELECT rowid FROM job_terms WHERE job_terms MATCH ${query}))`);
  }
  return { ...lead, where: [lead.where, ...asked].join(" AND "), bindings };
};

/** What is asked beside what the attempt itself says. */
const ofTold = (filter: JobFilter, bind: Bind): string[] => {
  const { unpriced, unpriced_since, unpriced_until, ...others } = filter;
  return [
    ...conditionsOf({ ...others, ...(unpriced === "false" ? { unpriced } : {}) }).map(({ sql }) => sql(bind, "+")),
    ...(unpriced_since === undefined ? [] : [`told.at >= ${bind(fromIso(unpriced_since))}`]),
    ...(unpriced_until === undefined ? [] : [`told.at < ${bind(fromIso(unpriced_until))}`]),
  ];
};

/** By the index of a list's own order, and each is looked at; in a span of time, only its row numbers are. */
export const inOrder = (filter: JobFilter): Selected => {
  const bindings: (string | number)[] = [];
  const bind: Bind = (value) => `?${bindings.push(value) + 1}`;
  const bounds = boundsOf(filter, "jobs.seq", bind);
  const asked = conditionsOf(filter).map(({ sql }) => sql(bind, "+"));
  const where = ["jobs.tenant = ?1", ...bounds, ...asked].join(" AND ");
  return { from: "jobs", where, bindings, seq: "jobs.seq", place: null };
};

/** The same, but only of the nearest that a filter finds are rows read: the others are only compared. */
export const inOrderOf = ({ from, where, bindings, seq, place }: Selected, nearest: Nearest): Selected => ({
  from: "jobs",
  where: `jobs.tenant = ?1 AND +jobs.seq IN (SELECT ${seq} FROM ${from} WHERE ${where} ${nearestIn({ place }, nearest)})`,
  bindings,
  seq: "jobs.seq",
  place: null,
});
