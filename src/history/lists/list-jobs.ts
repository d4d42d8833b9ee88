// A page of a tenant's jobs, as the API presents them.

import { type JobResource, presentJob } from "../../../contract/jobs/job.ts";
import { type JobListQuery, MAX_COUNTED } from "../../../contract/jobs/job-list.ts";
import { readArchived } from "../../../domain/job/job-record.ts";
import type { Json } from "../../../domain/words/json.ts";
import { invalid } from "../../../domain/words/refusal.ts";
import { Refused } from "../../http/refused.ts";
import { writeCursor } from "../job-cursor.ts";
import { withTexts } from "../job-texts.ts";
import { oneByOne } from "../jobs.ts";
import { readHistory } from "../store.ts";
import type { TenantHistory } from "../tenant-history.ts";
import { type ListedRow, NULL } from "./page-statement.ts";
import { readList } from "./ways.ts";

export interface JobPage {
  readonly jobs: JobResource[];
  readonly total: number;
  readonly total_is_capped: boolean;
  readonly next_cursor: string | null;
  readonly damaged_parts?: string[];
}

/** A page of the jobs that match a query, and how many match, up to the counting limit. */
export const listJobs = (history: TenantHistory, query: JobListQuery): Promise<JobPage> =>
  readHistory(async () => {
    if (query.cursor !== undefined && query.offset > 0)
      throw new Refused(invalid("offset", "cannot be combined with cursor: give one of the two"));
    const { rows, total } = await readList(history, query);
    const shown = rows.slice(0, query.limit);
    const last = shown.at(-1);
    const isLastPage = last === undefined || rows.length <= query.limit;
    return {
      jobs: await oneByOne(shown, async (row) => presentListed(await withTexts(row), query.max_chars)),
      total: Math.min(total, MAX_COUNTED),
      total_is_capped: total > MAX_COUNTED,
      next_cursor: isLastPage ? null : writeCursor(query.sort, { value: last.sorted_by, id: last.id }),
    };
  });

const presentListed = (row: ListedRow, maxChars: number): JobResource => {
  const isShort = (name: "prompt" | "input" | "result"): boolean =>
    row[`${name}_chars`] <= maxChars || (name !== "prompt" && row[name] === NULL);
  const truncated = (["prompt", "input", "result"] as const).filter((name) => !isShort(name));
  const json = (name: "input" | "result"): Json => (truncated.includes(name) ? null : (JSON.parse(row[name]) as Json));
  // As SQLite cuts what is not packed.
  const isPacked = row.packed_start !== null || row.packed_prompt !== null;
  const prompt = isPacked ? [...row.prompt].slice(0, maxChars).join("") : row.prompt;
  const job = presentJob(readArchived(row), { prompt, input: json("input") }, json("result"));
  return truncated.length === 0 ? job : { ...job, truncated };
};
