// A filter of jobs as SQL. One condition leads through its index in the order of the list; the others are looked at row
// by row. No text of a user's stands in a pattern: words go through the full-text index, an id's beginning is a range.

import { fromIso } from "../../contract/field.ts";
import { type JobFilter, metadataOf } from "../../contract/job-list.ts";
import { searchTermsOf } from "../../domain/search.ts";

/** `FROM` and `WHERE` of the jobs that a filter names; `?1` is the tenant, `bindings` follow it. */
export interface JobSelection {
  readonly from: string;
  readonly where: string;
  readonly bindings: readonly (string | number)[];
  /** The columns that a list by creation is in order of, so that an index leads. */
  readonly createdAt: string;
  readonly id: string;
}

/** Single values, the most telling first: the first one given leads, so its column is left bare for the planner. */
const COLUMNS = [
  ["error_code", "jobs.error_code"],
  ["schedule", "jobs.schedule"],
  ["worker", "jobs.worker"],
  ["key", "jobs.key_id"],
  ["status", "jobs.status"],
] as const satisfies readonly (readonly [keyof JobFilter, string])[];

const HTTP_STATUS = /^[1-5]\d\d$/;

/** What a job may have several of; `ran_provider` is among its providers. */
const labelsOf = (filter: JobFilter): [name: string, value: string][] => {
  const labels: [string, string | undefined][] = [
    ...metadataOf(filter).map(([name, value]): [string, string] => [`metadata.${name}`, value]),
    ["tag", filter.tag],
    ["model", filter.model],
    ["provider", filter.ran_provider],
    ["provider", filter.provider],
  ];
  return labels.filter((label): label is [string, string] => label[1] !== undefined);
};

const IS_UNPRICED = `EXISTS (SELECT 1 FROM attempts
  WHERE attempts.tenant = ?1 AND attempts.job_id = jobs.id AND attempts.nano_usd IS NULL)`;

export const selectionOf = (filter: JobFilter): JobSelection => {
  const bindings: (string | number)[] = [];
  const bind = (value: string | number): string => `?${bindings.push(value) + 1}`;
  const joined: string[] = [];
  const conditions: string[] = [];
  const [lead, ...others] = labelsOf(filter);
  if (lead !== undefined) {
    conditions.push(`lead.tenant = ?1 AND lead.name = ${bind(lead[0])} AND lead.value = ${bind(lead[1])}`);
    joined.push("job_labels AS lead CROSS JOIN");
  }
  const createdAt = lead === undefined ? "jobs.created_at" : "lead.created_at";
  const id = lead === undefined ? "jobs.id" : "lead.job_id";
  conditions.push(lead === undefined ? "jobs.tenant = ?1" : "jobs.tenant = ?1 AND jobs.id = lead.job_id");
  if (filter.since !== undefined) conditions.push(`${createdAt} >= ${bind(fromIso(filter.since))}`);
  if (filter.until !== undefined) conditions.push(`${createdAt} < ${bind(fromIso(filter.until))}`);
  let isLed = lead !== undefined;
  for (const [name, column] of COLUMNS) {
    const value = filter[name];
    if (value === undefined) continue;
    if (name === "error_code" && HTTP_STATUS.test(value)) {
      // Not every runtime has a code of its own: a number finds the status that the provider answered with, too.
      conditions.push(
        `(+jobs.error_code = ${bind(value)} OR jobs.record ->> '$.error.status' = ${bind(Number(value))})`,
      );
      continue;
    }
    conditions.push(`${isLed ? "+" : ""}${column} = ${bind(value)}`);
    isLed = true;
  }
  if (filter.ran_provider !== undefined) conditions.push(`jobs.ran_provider = ${bind(filter.ran_provider)}`);
  for (const [name, value] of others) {
    conditions.push(`EXISTS (SELECT 1 FROM job_labels AS other WHERE other.tenant = ?1 AND other.name = ${bind(name)}
      AND other.value = ${bind(value)} AND other.created_at = jobs.created_at AND other.job_id = jobs.id)`);
  }
  if (filter.unpriced !== undefined) conditions.push(`${filter.unpriced === "true" ? "" : "NOT "}${IS_UNPRICED}`);
  if (filter.q !== undefined) conditions.push(searchCondition(filter.q, bind));
  return { from: [...joined, "jobs"].join(" "), where: conditions.join(" AND "), bindings, createdAt, id };
};

/** After every character that an id may have. */
const PAST_IDS = "~";

/** Jobs whose id begins so, or whose prompt and error together have words that begin so. */
const searchCondition = (q: string, bind: (value: string) => string): string => {
  const beginning = bind(q.trim().toLowerCase());
  const byId = `SELECT seq FROM jobs WHERE tenant = ?1 AND id >= ${beginning} AND id < ${beginning} || '${PAST_IDS}'`;
  const terms = searchTermsOf(q);
  if (terms.length === 0) return `jobs.seq IN (${byId})`;
  // The tenant is a word of each text: it narrows the search, and the jobs found are the tenant's by their own column.
  const words = terms.map((term) => `"${term}"*`).join(" ");
  const byWords = `SELECT rowid FROM job_words WHERE job_words MATCH 'tenant' || lower(hex(?1)) || ' ' || ${bind(words)}`;
  return `jobs.seq IN (${byWords} UNION ALL ${byId})`;
};
