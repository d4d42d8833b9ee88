// The filter of job lists on a line of the archive: the same names and meanings as in SQL (`../lists/conditions.ts`).

import { type JobFilter, type JobFilterName, metadataOf } from "../../../contract/jobs/job-list.ts";
import { fromIso } from "../../../contract/words/field.ts";
import { searchTermsOf } from "../../../domain/job/search.ts";
import type { ArchivedLine } from "./part.ts";

/** A term has letters and digits only. */
const beginning = (term: string): RegExp => new RegExp(`(?<![\\p{L}\\p{N}])${term}`, "u");

const hasError = (line: ArchivedLine, code: string): boolean =>
  line.error?.code === code || String(line.error?.status) === code;

const hasWords = (line: ArchivedLine, q: string): boolean => {
  if (line.id.startsWith(q.trim().toLowerCase()) || hasError(line, q.trim())) return true;
  const terms = searchTermsOf(q);
  const text = `${line.prompt} ${line.error?.message ?? ""}`.normalize("NFC").toLowerCase();
  // A list of the words would cost ten times as much, and a page reads many megabytes.
  return terms.length > 0 && terms.every((term) => beginning(term.toLowerCase()).test(text));
};

const ranOn = (line: ArchivedLine, provider: string): boolean =>
  line.provider === provider ||
  line.attempt_list.some((one) => one.provider === provider) ||
  line.ran_provider === provider;

/** `unpriced…` is refused before. */
const CONDITIONS: Readonly<Record<JobFilterName, (line: ArchivedLine, value: string) => boolean>> = {
  status: (line, value) => line.status === value,
  provider: ranOn,
  ran_provider: (line, value) => line.ran_provider === value,
  model: (line, value) => line.model === value || line.ran_model === value,
  tag: (line, value) => line.tags.includes(value),
  schedule: (line, value) => line.schedule === value,
  batch: (line, value) => line.batch === value,
  worker: (line, value) => line.assigned_worker === value,
  key: (line, value) => line.key_id === value,
  error_code: hasError,
  unpriced: () => true,
  unpriced_since: () => true,
  unpriced_until: () => true,
  since: (line, value) => Date.parse(line.created_at) >= fromIso(value),
  until: (line, value) => Date.parse(line.created_at) < fromIso(value),
  q: hasWords,
};

export const matchesLine = (line: ArchivedLine, filter: JobFilter): boolean =>
  metadataOf(filter).every(([name, value]) => line.metadata[name] === value) &&
  (Object.keys(CONDITIONS) as JobFilterName[]).every((name) => {
    const value = filter[name];
    return value === undefined || CONDITIONS[name](line, value);
  });
