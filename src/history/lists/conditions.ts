// What a filter requires of a job: as a word of the full-text index, which knows labels, status, worker and the words of
// texts, and as SQL on the job's row. User text is never part of a pattern: it is in hexadecimal digits or a quoted word,
// and the beginning of an id is a range.

import { type JobFilter, type jobFilter, metadataOf } from "../../../contract/jobs/job-list.ts";
import { fromIso } from "../../../contract/words/field.ts";
import { searchTermsOf } from "../../../domain/job/search.ts";
import { hexOf } from "../../../domain/words/hex.ts";
import type { TenantHistory } from "../tenant-history.ts";

export type Bind = (value: string | number) => string;

/** The values of a statement after `?1`, the tenant. */
export const binding = (
  given: readonly (string | number)[] = [],
): { readonly bindings: readonly (string | number)[]; readonly bind: Bind } => {
  const bindings = [...given];
  return { bindings, bind: (value) => `?${bindings.push(value) + 1}` };
};

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

/** `labels` has each pair as `JSON.stringify` writes it, in which no text looks like a pair: its quotes are escaped. */
const label =
  (name: string) =>
  (value: string): Condition => ({
    term: termOf(`x${hex(name)}x`, value),
    sql: (bind) => `instr(jobs.labels, ${bind(JSON.stringify([name, value]))}) > 0`,
  });

const column =
  (name: string, mark: string) =>
  (value: string): Condition => ({
    term: termOf(mark, value),
    sql: (bind) => `+jobs.${name} = ${bind(value)}`,
  });

/** Not every runtime has error codes: a number also matches the HTTP status of the error. */
const errorCode = (value: string) => ({
  term: termOf("y", value),
  sql: (bind: Bind) =>
    `(+jobs.error_code = ${bind(value)} OR jobs.record ->> '$.error.status' = CAST(${bind(value)} AS INTEGER))`,
});

const rowOnly = (sql: Condition["sql"]): Condition => ({ term: null, sql });

/** Of a job's first attempt without a price; nothing if it has none. */
export const ofUnpriced = (column: string): string => `(SELECT ${column} FROM attempts
  WHERE attempts.tenant = ?1 AND attempts.job_id = jobs.id AND attempts.nano_usd IS NULL ORDER BY lease LIMIT 1)`;

/** When the cost counts the job as unpriced. */
const UNPRICED_AT = ofUnpriced("at");

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

export const conditionsOf = (filter: JobFilter): Condition[] => [
  ...metadataOf(filter).map(([name, value]) => label(`metadata.${name}`)(value)),
  ...(Object.keys(PARTS) as (keyof typeof PARTS)[]).flatMap((name) => {
    const value = filter[name];
    return value === undefined ? [] : [PARTS[name](value)];
  }),
];

/** What the index does not know. */
export const unknownOf = (filter: JobFilter): Condition[] => conditionsOf(filter).filter(({ term }) => term === null);

const termsOf = (tenant: string, filter: JobFilter): string[] =>
  conditionsOf(filter).flatMap(({ term }) => (term === null ? [] : [term(tenant)]));

/** What the index is asked for: the words, or an error with them as its code. */
export const queryOf = (tenant: string, filter: JobFilter, words: readonly string[]): string => {
  const terms = termsOf(tenant, filter);
  const { q = "" } = filter;
  const found = words.length === 0 ? [] : [`(${words.join(" AND ")} OR ${errorCode(q.trim()).term(tenant)})`];
  // Each of them names the tenant.
  return [...(terms.length === 0 ? [tenantTerm(tenant)] : terms), ...found].join(" AND ");
};

export const wordsOf = ({ q }: JobFilter): string[] => (q === undefined ? [] : searchTermsOf(q));

/** No word of a text, so that no job has it. */
export const NOWHERE = `"${SIGN}"`;

const placeOf = (condition: string, order: string): string =>
  `(SELECT seq FROM jobs WHERE tenant = ?1 AND ${condition} ORDER BY ${order} LIMIT 1)`;

/** The bounds of a creation time as bounds of row numbers, which the index can begin and end at. */
export const boundsOf = ({ since, until }: JobFilter, seq: string, bind: Bind): string[] => {
  const bound = (sign: string, past: string, value: string, order: string): string =>
    `${seq} ${sign} ${placeOf(`created_at ${past} ${bind(fromIso(value))}`, order)}`;
  return [
    ...(since === undefined ? [] : [bound(">=", ">=", since, "created_at, seq")]),
    ...(until === undefined ? [] : [bound("<=", "<", until, "created_at DESC, seq DESC")]),
  ];
};

/** Sorts after every character of an id. */
const PAST_IDS = "~";
const ID_BEGINNING = /^[0-9a-z-]+$/;

const beginningOf = ({ q }: JobFilter): string => q?.trim().toLowerCase() ?? "";

/** Ids grow with the time, as row numbers do: those with one beginning are a span. */
export const idSpan = (
  filter: JobFilter,
  bind: Bind,
): { readonly isWithin: string; readonly bounds: (seq: string) => string[] } => {
  const beginning = bind(beginningOf(filter));
  const [least, end] = [`id >= ${beginning}`, `id < ${beginning} || '${PAST_IDS}'`];
  const bounds = (seq: string): string[] => [
    `${seq} >= ${placeOf(least, "id")}`,
    `${seq} <= ${placeOf(end, "id DESC")}`,
  ];
  return { isWithin: `jobs.${least} AND jobs.${end}`, bounds };
};

/** Whether a search is also the beginning of a job's id: then words alone do not find all. */
export const findsIds = async (history: TenantHistory, filter: JobFilter): Promise<boolean> => {
  const beginning = beginningOf(filter);
  if (!ID_BEGINNING.test(beginning)) return false;
  const sql = `SELECT 1 FROM jobs WHERE tenant = ?1 AND id >= ?2 AND id < ?2 || '${PAST_IDS}' LIMIT 1`;
  return (await history.statement(sql, beginning).first()) !== null;
};
