// `jobs retry` and `jobs cancel` with --filter: all jobs that match, counted and confirmed before anything changes.

import { changeAll, type Tally } from "../../contract/client/change-all.ts";
import { JOB_FILTER_NAMES } from "../../contract/jobs/job-filter-names.ts";
import type { BulkAction, JobFilter } from "../../contract/jobs/job-list.ts";
import { USUAL_STATUSES } from "../../contract/words/values.ts";
import { Failure, UsageError } from "../failure.ts";
import { type Input, instantOf } from "../input.ts";
import { pairsOf } from "../pairs.ts";
import type { Context, Flag } from "../verb.ts";

export const BULK_FLAGS = {
  filter: {
    takes: "name=value",
    says: "instead of ids: all jobs that match, with a name of `GET /api/jobs` (status, provider, tag, error_code, since, q, metadata.<name> …)",
    isRepeated: true,
  },
  "dry-run": { takes: null, says: "with --filter: only counts the jobs, by status" },
  yes: { takes: null, says: "with --filter: does not ask first" },
} as const satisfies Readonly<Record<string, Flag>>;

interface FilteredCount {
  readonly filter: JobFilter;
  readonly total: number;
  /** How many of them the action may change. */
  readonly changeable: number;
}

const METADATA = "metadata.";

const TIMES: ReadonlySet<string> = new Set(["since", "until"]);

/** Checked here: the list that counts them takes more names, such as `limit`. */
const filterOf = (input: Input): Record<string, string> => {
  const asked = { ...pairsOf(input, "filter") };
  for (const [name, value] of Object.entries(asked)) {
    if (TIMES.has(name)) asked[name] = instantOf(`filter ${name}=`, value, "past");
    if (!JOB_FILTER_NAMES.includes(name) && !name.startsWith(METADATA))
      throw new UsageError(`--filter takes ${JOB_FILTER_NAMES.join(", ")} and ${METADATA}<name>, not "${name}"`);
  }
  return asked;
};

/** Without a status, those that the action usually means; never jobs that it would only be refused. */
const partsOf = async ({ client, signal }: Context, action: BulkAction, asked: Record<string, string>) => {
  const statuses = asked.status === undefined ? USUAL_STATUSES[action] : [asked.status];
  const parts: FilteredCount[] = [];
  for (const status of statuses) {
    const filter = { ...asked, status } as unknown as JobFilter;
    const told = await client().jobs.changeMany({ action, filter, dry_run: true }, { signal });
    parts.push({ filter, total: told.matched, changeable: told.remaining });
  }
  return parts;
};

const confirm = async ({ ask }: Context, input: Input, question: string): Promise<void> => {
  if (input.is("yes")) return;
  if (ask === null) throw new UsageError("there is no terminal to ask on: give --yes to change them");
  if (!(await ask(`${question} [y/N] `))) throw new Failure("Nothing was changed.");
};

/** What would be asked to change, by status. */
const count = ({ output }: Context, parts: readonly FilteredCount[]): number => {
  const rows = parts.map(({ filter: { status }, changeable }) => ({ status, total: changeable }));
  output.table({ matched: rows }, rows, [
    { title: "status", of: ({ status }) => status },
    { title: "jobs", of: ({ total }) => total },
  ]);
  output.say(rows.length === 0 ? "No job matches." : "Nothing was changed.");
  return 0;
};

export const bulkJobs = async (context: Context, input: Input, action: BulkAction): Promise<number> => {
  const { output } = context;
  const parts = (await partsOf(context, action, filterOf(input))).filter(({ changeable }) => changeable > 0);
  const total = parts.reduce((sum, part) => sum + part.changeable, 0);
  if (input.is("dry-run")) return count(context, parts);
  if (total > 0) {
    const word = action === "retry" ? "Retry" : "Cancel";
    await confirm(context, input, `${word} ${total} ${total === 1 ? "job" : "jobs"}?`);
  }
  const tally: Tally = { changed: 0, refused: 0 };
  // What was counted must still be true.
  for (const { filter, total: expected } of parts)
    await changeAll(context.client().jobs, { action, filter, expected }, tally, { signal: context.signal });
  output.value(tally, `${tally.changed} changed, ${tally.refused} refused`);
  return tally.refused === 0 ? 0 : 1;
};
