// The search line of the jobs page and the API's filter: the same content as text and as fields. Pure.

import type { JobFilter } from "../../contract/jobs/job-list.ts";
import type { LiveJob } from "../../contract/live.ts";
import { nearestOf } from "../../contract/text/nearest.ts";
import { JOB_STATUSES, type JobStatus } from "../../contract/words/values.ts";

/** A filter as in the address and the API: name and value. */
export type Filter = Readonly<Record<string, string>>;

/** The same for the API, which checks the values of an address. */
export const asJobFilter = (filter: Filter): JobFilter => filter as unknown as JobFilter;

/** The parts of an address that a change of the filter clears: another list begins with its first page. */
export const FROM_THE_START = { offset: null, cursor: null, waits: null };

/** The line's name for each field, and the API's. */
const SEARCH_KEYS = {
  error: "error_code",
  ran: "ran_provider",
  provider: "provider",
  model: "model",
  tag: "tag",
  worker: "worker",
  schedule: "schedule",
  batch: "batch",
  key: "key",
  unpriced: "unpriced",
} as const;

const SAID = Object.fromEntries(Object.entries(SEARCH_KEYS).map(([said, name]) => [name, said]));
const METADATA = "metadata.";
const TOKEN = /([A-Za-z][^\s:"]*):(?:"([^"]*)"|(\S*))|"([^"]*)"|(\S+)/g;

const fieldOf = (said: string): string | null =>
  Object.hasOwn(SEARCH_KEYS, said)
    ? SEARCH_KEYS[said as keyof typeof SEARCH_KEYS]
    : said.startsWith(METADATA)
      ? said
      : null;

const isStatus = (value: string | undefined): value is JobStatus => JOB_STATUSES.includes(value as JobStatus);

/** Words without a field are searched in ids, prompts and errors. A state may be typed; the line then leaves it to its chip. */
export const parseSearch = (line: string): Filter => {
  const found: Record<string, string> = {};
  const words: string[] = [];
  for (const [whole, said = "", quoted, bare, phrase, word] of line.matchAll(TOKEN)) {
    const field = fieldOf(said);
    const value = quoted ?? bare ?? "";
    if (said === "status" && isStatus(value)) found.status = value;
    else if (field !== null && value !== "") found[field] = value;
    else if (field === null) words.push(phrase ?? word ?? whole);
  }
  const q = words.join(" ").trim();
  return q === "" ? found : { ...found, q };
};

export interface Mistyped {
  readonly said: string;
  readonly nearest: string | null;
}

/** The first `name:value` whose name is no field: it is searched as text, which is seldom what was meant. */
export const mistypedField = (line: string): Mistyped | null => {
  for (const [, said = ""] of line.matchAll(TOKEN))
    if (said !== "" && fieldOf(said) === null) return { said, nearest: nearestOf(said, Object.keys(SEARCH_KEYS)) };
  return null;
};

export const SEARCH_FIELDS: readonly string[] = [...Object.keys(SEARCH_KEYS), `${METADATA}<name>`];

const quoted = (value: string): string => (/\s/.test(value) ? `"${value}"` : value);

export const formatSearch = (filter: Filter): string => {
  const fields = Object.entries(filter).flatMap(([name, value]) => {
    const said = SAID[name] ?? (name.startsWith(METADATA) ? name : null);
    return said === null ? [] : [`${said}:${quoted(value)}`];
  });
  return [filter.q, ...fields].filter(Boolean).join(" ");
};

/** Whether the line can express this field of an address. */
export const isSearched = (name: string): boolean =>
  name === "q" || Object.hasOwn(SAID, name) || name.startsWith(METADATA);

const TIMES = ["since", "until", "unpriced_since", "unpriced_until"] as const;

const isTime = (name: string, value: string): boolean =>
  TIMES.some((time) => time === name) && !Number.isNaN(Date.parse(value));

/** The parts of an address that the API takes as a filter. */
export const filterIn = (query: URLSearchParams): Filter =>
  Object.fromEntries(
    [...query].filter(
      ([name, value]) =>
        value !== "" && (isSearched(name) || isTime(name, value) || (name === "status" && isStatus(value))),
    ),
  );

/** Whether an address lists the archive in place of history. */
export const isOfArchive = (query: URLSearchParams): boolean => query.get("archived") === "true";

const hasWords = (job: LiveJob, q: string): boolean => {
  const text = `${job.id} ${job.prompt_start} ${job.error?.message ?? ""}`.toLowerCase();
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
};

type Test = (job: LiveJob, value: string) => boolean;
type Name = Exclude<keyof JobFilter, `${typeof METADATA}${string}`>;

const TESTS: Record<Name, Test> = {
  status: (job, value) => job.status === value,
  q: hasWords,
  error_code: ({ error }, value) => error?.code === value || String(error?.status ?? "") === value,
  ran_provider: (job, value) => job.ran_provider === value,
  provider: (job, value) => job.provider === value || job.ran_provider === value,
  model: (job, value) => job.model === value || job.ran_model === value,
  tag: (job, value) => job.tags.includes(value),
  worker: (job, value) => job.assigned_worker === value,
  schedule: (job, value) => job.schedule === value,
  batch: (job, value) => job.batch === value,
  since: (job, value) => job.created_at >= value,
  until: (job, value) => job.created_at < value,
  // Its last attempt ended with it.
  unpriced_since: ({ finished_at }, value) => finished_at !== null && finished_at >= value,
  unpriced_until: ({ finished_at }, value) => finished_at !== null && finished_at < value,
  unpriced: (job, value) => (job.usage !== null && job.cost_usd === null) === (value === "true"),
  // A live job does not contain the key that created it.
  key: () => false,
};

const isName = (name: string): name is Name => Object.hasOwn(TESTS, name);

/** Whether a job from the socket belongs into the list. */
export const matches = (job: LiveJob, filter: Filter): boolean =>
  Object.entries(filter).every(([name, value]) =>
    isName(name) ? TESTS[name](job, value) : job.metadata[name.slice(METADATA.length)] === value,
  );

/** The line with its last word completed in every matching way. */
export const completions = (line: string, known: Readonly<Record<string, readonly string[]>>): string[] => {
  const start = line.slice(0, line.length - (line.match(/\S*$/)?.[0].length ?? 0));
  const last = line.slice(start.length);
  const [said, value] = last.includes(":") ? [last.slice(0, last.indexOf(":")), last.slice(last.indexOf(":") + 1)] : [];
  if (said === undefined || value === undefined)
    return Object.keys(SEARCH_KEYS)
      .filter((key) => key.startsWith(last))
      .map((key) => `${start}${key}:`);
  return (known[said] ?? [])
    .filter((one) => one.startsWith(value) && one !== value)
    .slice(0, MAX_COMPLETIONS)
    .map((one) => `${start}${said}:${quoted(one)}`);
};

const MAX_COMPLETIONS = 50;
