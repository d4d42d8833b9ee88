// A job filter as SQL. One condition uses an index in the order of the list; the others are checked per row. User text
// is never part of a pattern: words use the full-text index, the beginning of an id is a range.

import { fromIso } from "../../contract/field.ts";
import { type JobFilter, type jobFilter, metadataOf } from "../../contract/job-list.ts";
import { searchTermsOf } from "../../domain/job/search.ts";

/** `FROM` and `WHERE` for the jobs of a filter; `?1` is the tenant, followed by `bindings`. */
export interface JobSelection {
  readonly from: string;
  readonly where: string;
  readonly bindings: readonly (string | number)[];
  /** The columns that order a list by creation, so that an index can be used. */
  readonly createdAt: string;
  readonly id: string;
}

type Bind = (value: string | number) => string;

/** What a filter requires of a job; the first requested label leads, else the first column. */
type Condition =
  /** It may have several of the kind. */
  | { readonly label: string; readonly value: string }
  /** It has one, found by an index. */
  | { readonly column: string; readonly value: string }
  | { readonly sql: (bind: Bind, createdAt: string) => string };

const label =
  (name: string) =>
  (value: string): Condition[] => [{ label: name, value }];
const column =
  (name: string) =>
  (value: string): Condition[] => [{ column: `jobs.${name}`, value }];

const HTTP_STATUS = /^[1-5]\d\d$/;

/** Not every runtime has error codes: a number also matches the HTTP status of the error. */
const errorCode = (value: string): Condition[] =>
  HTTP_STATUS.test(value)
    ? [
        {
          sql: (bind) =>
            `(+jobs.error_code = ${bind(value)} OR jobs.record ->> '$.error.status' = ${bind(Number(value))})`,
        },
      ]
    : column("error_code")(value);

const IS_UNPRICED = `EXISTS (SELECT 1 FROM attempts
  WHERE attempts.tenant = ?1 AND attempts.job_id = jobs.id AND attempts.nano_usd IS NULL)`;

/** When the cost counts the job as unpriced; null if never. */
const UNPRICED_AT = `(SELECT at FROM attempts
  WHERE attempts.tenant = ?1 AND attempts.job_id = jobs.id AND attempts.nano_usd IS NULL ORDER BY lease LIMIT 1)`;

type JobFilterName = keyof typeof jobFilter.shape;

/** Every name that a filter may have, most selective first. */
const PARTS = {
  batch: label("batch"),
  tag: label("tag"),
  model: label("model"),
  // It is among the job's providers, whose index is used.
  ran_provider: (value) => [...label("provider")(value), { sql: (bind) => `jobs.ran_provider = ${bind(value)}` }],
  provider: label("provider"),
  error_code: errorCode,
  schedule: column("schedule"),
  worker: column("worker"),
  key: column("key_id"),
  status: column("status"),
  since: (value) => [{ sql: (bind, createdAt) => `${createdAt} >= ${bind(fromIso(value))}` }],
  until: (value) => [{ sql: (bind, createdAt) => `${createdAt} < ${bind(fromIso(value))}` }],
  unpriced_since: (value) => [{ sql: (bind) => `${UNPRICED_AT} >= ${bind(fromIso(value))}` }],
  unpriced_until: (value) => [{ sql: (bind) => `${UNPRICED_AT} < ${bind(fromIso(value))}` }],
  unpriced: (value) => [{ sql: () => `${value === "true" ? "" : "NOT "}${IS_UNPRICED}` }],
  q: (value) => [{ sql: (bind) => searchCondition(value, bind) }],
} as const satisfies Record<JobFilterName, (value: string) => Condition[]>;

const partsOf = (filter: JobFilter): Condition[] => [
  ...metadataOf(filter).flatMap(([name, value]) => label(`metadata.${name}`)(value)),
  ...(Object.keys(PARTS) as JobFilterName[]).flatMap((name) => {
    const value = filter[name];
    return value === undefined ? [] : PARTS[name](value);
  }),
];

export const selectionOf = (filter: JobFilter): JobSelection => {
  const bindings: (string | number)[] = [];
  const bind: Bind = (value) => `?${bindings.push(value) + 1}`;
  const parts = partsOf(filter);
  const lead = parts.find((part) => "label" in part);
  const [createdAt, id] = lead === undefined ? ["jobs.created_at", "jobs.id"] : ["lead.created_at", "lead.job_id"];
  const conditions =
    lead === undefined
      ? ["jobs.tenant = ?1"]
      : [
          `lead.tenant = ?1 AND lead.name = ${bind(lead.label)} AND lead.value = ${bind(lead.value)}`,
          "jobs.tenant = ?1 AND jobs.id = lead.job_id",
        ];
  let isLed = lead !== undefined;
  for (const part of parts) {
    if (part === lead) continue;
    if ("sql" in part) conditions.push(part.sql(bind, createdAt));
    else if ("label" in part) conditions.push(hasLabel(part, bind));
    else {
      // The leading condition has no plus, so that the planner uses its index.
      conditions.push(`${isLed ? "+" : ""}${part.column} = ${bind(part.value)}`);
      isLed = true;
    }
  }
  const from = lead === undefined ? "jobs" : "job_labels AS lead CROSS JOIN jobs";
  return { from, where: conditions.join(" AND "), bindings, createdAt, id };
};

const hasLabel = ({ label: name, value }: { label: string; value: string }, bind: Bind): string =>
  `EXISTS (SELECT 1 FROM job_labels AS other WHERE other.tenant = ?1 AND other.name = ${bind(name)}
      AND other.value = ${bind(value)} AND other.created_at = jobs.created_at AND other.job_id = jobs.id)`;

/** Sorts after every character of an id. */
const PAST_IDS = "~";

/** Jobs whose id begins with the text, or whose prompt and error contain words that begin with its words. */
const searchCondition = (q: string, bind: (value: string) => string): string => {
  const beginning = bind(q.trim().toLowerCase());
  const byId = `SELECT seq FROM jobs WHERE tenant = ?1 AND id >= ${beginning} AND id < ${beginning} || '${PAST_IDS}'`;
  const terms = searchTermsOf(q);
  if (terms.length === 0) return `jobs.seq IN (${byId})`;
  // The tenant is a word of each indexed text and narrows the search; the tenant column then decides.
  const words = terms.map((term) => `"${term}"*`).join(" ");
  const byWords = `SELECT rowid FROM job_words WHERE job_words MATCH 'tenant' || lower(hex(?1)) || ' ' || ${bind(words)}`;
  return `jobs.seq IN (${byWords} UNION ALL ${byId})`;
};
