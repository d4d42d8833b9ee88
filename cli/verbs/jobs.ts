// Jobs: read and change them.

import { setTimeout } from "node:timers/promises";
import { listing } from "../../contract/client/listing.ts";
import type { QueryOf } from "../../contract/client/transport.ts";
import type { JobResource } from "../../contract/jobs/job.ts";
import type { JobListQuery } from "../../contract/jobs/job-list.ts";
import { printable } from "../../contract/text/printable.ts";
import { startOf } from "../../contract/text/start-of.ts";
import { isFinal, JOB_STATUSES, MAX_PAGE } from "../../contract/words/values.ts";
import { UsageError } from "../failure.ts";
import type { Input } from "../input.ts";
import type { Column } from "../terminal/cells.ts";
import { exactUsd } from "../terminal/usd.ts";
import { when } from "../terminal/when.ts";
import type { Context, Flag, Verb } from "../verb.ts";
import { whileAway } from "../while-away.ts";
import { BULK_FLAGS, bulkJobs } from "./bulk-jobs.ts";
import { PAGE_FLAGS, showPages } from "./pages.ts";
import { textOf } from "./run.ts";
import { waitLive } from "./wait-aloud.ts";

const ID = { name: "id", says: "the job's id" } as const;
const WATCH_EVERY_MS = 2_000;
const SHOWN_PROMPT = 60;

const FILTERS: Readonly<Record<string, Flag>> = {
  status: { takes: JOB_STATUSES.join("|"), says: "only jobs with this status" },
  provider: { takes: "name", says: "only jobs that asked for it or ran on it" },
  model: { takes: "name", says: "only jobs that asked for it or ran on it" },
  tag: { takes: "tag", says: "only jobs that ask for this tag" },
  worker: { takes: "instance", says: "only jobs of this worker" },
  schedule: { takes: "name", says: "only jobs of this schedule" },
  batch: { takes: "id", says: "only lines of this batch" },
  key: { takes: "id", says: "only jobs created by this key" },
  "error-code": { takes: "code", says: "only jobs that failed with this code" },
  since: { takes: "time", says: "created at this time or later: RFC 3339, or a span back from now, such as 2h" },
  until: { takes: "time", says: "created before this time" },
  search: { takes: "words", says: "the beginning of an id, or words of the prompt or the error" },
};

/** The API calls it `q`. */
const filterOf = (input: Input): Partial<JobListQuery> => {
  const { search, ...fields } = input.given(...Object.keys(FILTERS));
  const times = input.times("since", "until");
  return { ...fields, ...times, ...(search === undefined ? {} : { q: search }) } as Partial<JobListQuery>;
};

/** An error may have no words. */
const errorOf = ({ code, message }: NonNullable<JobResource["error"]>): string =>
  [code, message].filter(Boolean).join(": ");

const COLUMNS: readonly Column<JobResource>[] = [
  { title: "id", of: ({ id }) => id },
  { title: "status", of: ({ status }) => status },
  { title: "worker", of: ({ assigned_worker }) => assigned_worker },
  { title: "created", of: ({ created_at }) => when(created_at) },
  { title: "prompt", of: ({ prompt, error }) => (error === null ? startOf(prompt, SHOWN_PROMPT) : errorOf(error)) },
];

const showJob = ({ output }: Context, job: JobResource): void =>
  output.record(job, [
    ["id", job.id],
    ["status", job.status],
    ["waits for", job.waiting_reason],
    ["worker", job.assigned_worker],
    ["provider", job.provider],
    ["model", job.model],
    ["priority", job.priority],
    ["tags", job.tags],
    ["attempts", job.attempts],
    ["created", when(job.created_at)],
    ["started", when(job.started_at)],
    ["finished", when(job.finished_at)],
    ["cost", job.cost_usd == null ? null : `$${exactUsd(job.cost_usd)}`],
    ["prompt", job.prompt],
    ["files", job.files],
    ["error", job.error === null ? null : errorOf(job.error)],
    ["result", textOf(job.result)],
    ["stored", job.result_files.map(({ id, name }) => `${id} ${name}`)],
  ]);

const list: Verb = {
  name: "jobs list",
  says: "Lists jobs, newest first",
  examples: [
    "jobs list --status failed --since 2h",
    'jobs list --tag nightly --search "invoice" --all',
    "jobs list --worker gpu-1 --json",
    "jobs list --archived --until 90d --all",
  ],
  flags: {
    ...FILTERS,
    archived: { takes: null, says: "lists the archive in place of history" },
    ...PAGE_FLAGS,
  },
  run: async ({ client, output, signal }, input) => {
    input.choice("status", JOB_STATUSES);
    const query = { ...filterOf(input), ...(input.is("archived") ? ({ archived: "true" } as const) : {}) };
    const lost = new Set<string>();
    const readPage = async (asked: QueryOf<JobListQuery>) => {
      const page = await client().jobs.list(asked, { signal });
      for (const part of page.damaged_parts ?? []) lost.add(part);
      return page;
    };
    const read = (limit: number | null) =>
      listing({ ...query, limit } as QueryOf<JobListQuery>, readPage, ({ jobs }) => jobs);
    await showPages(output, input, "jobs", read, COLUMNS);
    if (lost.size > 0)
      output.say(`Without the jobs of the archive's damaged or missing parts: ${[...lost].join(", ")}.`);
  },
};

const get: Verb = {
  name: "jobs get",
  says: "Shows a job with its result",
  examples: ["jobs get job_1", "jobs get job_1 --wait --json"],
  args: [ID],
  flags: { wait: { takes: null, says: "waits until the job is final" } },
  run: async (context, input) => {
    const { jobs } = context.client();
    const id = input.arg("id");
    const { signal } = context;
    showJob(context, input.is("wait") ? await waitLive(context, id) : await jobs.get(id, { signal }));
  },
};

/** Handles each id; a refused one does not stop the others. */
const command = (verb: "cancel" | "retry", says: string, examples: Verb["examples"]): Verb => ({
  name: `jobs ${verb}`,
  says,
  examples,
  args: [{ ...ID, isMany: true, isOptional: true }],
  flags: BULK_FLAGS,
  run: async (context, input) => {
    const isFiltered = input.is("filter");
    if (!isFiltered && input.is("dry-run")) throw new UsageError("--dry-run counts the jobs of --filter: give one");
    if (isFiltered === input.args("id").length > 0) throw new UsageError("give ids, or --filter");
    if (isFiltered) return bulkJobs(context, input, verb);
    const { client, output, signal } = context;
    let refused = 0;
    for (const id of input.args("id")) {
      try {
        const job = await client().jobs[verb](id, { signal });
        output.line(job, `${job.id}\t${job.status}`);
      } catch (error) {
        signal.throwIfAborted();
        if (input.args("id").length === 1) throw error;
        output.say(`${id}: ${(error as Error).message}`);
        refused += 1;
      }
    }
    return refused === 0 ? 0 : 1;
  },
});

const events: Verb = {
  name: "jobs events",
  says: "Lists a job's events, oldest first",
  examples: ["jobs events job_1"],
  args: [ID],
  run: async ({ client, output, signal }, input) => {
    const found = await client().jobs.events(input.arg("id"), { signal });
    output.table(found, found.events, [
      { title: "at", of: ({ at }) => when(at) },
      { title: "type", of: ({ type }) => type },
      { title: "lease", of: ({ lease }) => lease },
      { title: "worker", of: ({ worker }) => worker },
      { title: "detail", of: ({ detail }) => detail },
    ]);
  },
};

const attempts: Verb = {
  name: "jobs attempts",
  says: "Lists a job's attempts: worker, outcome, cost",
  examples: ["jobs attempts job_1"],
  args: [ID],
  run: async ({ client, output, signal }, input) => {
    const found = await client().jobs.attempts(input.arg("id"), { signal });
    output.table(found, found.attempts, [
      { title: "lease", of: ({ lease }) => lease },
      { title: "worker", of: ({ worker }) => worker },
      { title: "model", of: ({ model }) => model },
      { title: "started", of: ({ started_at }) => when(started_at) },
      { title: "finished", of: ({ finished_at }) => when(finished_at) },
      { title: "usd", of: ({ cost_usd }) => (cost_usd === null ? null : exactUsd(cost_usd)) },
      { title: "outcome", of: ({ outcome, error }) => (error === null ? outcome : `${outcome}: ${errorOf(error)}`) },
    ]);
  },
};

const changeLine = (job: JobResource): string =>
  [job.updated_at, job.id, job.status, job.assigned_worker ?? "", job.error?.message ?? job.waiting_reason ?? ""]
    .map((part) => printable(String(part)))
    .join("\t");

/** One job until it is final, or all jobs until interrupted: one line per change. */
const watch: Verb = {
  name: "jobs watch",
  says: "Prints one line per change, of one job until its end or of the newest jobs",
  examples: ["jobs watch", "jobs watch job_1"],
  args: [{ ...ID, isOptional: true }],
  run: async (context, input) => {
    const { output, signal } = context;
    const { jobs } = context.client();
    const id = input.optionalArg("id");
    const look = async (): Promise<readonly JobResource[]> =>
      id === undefined ? (await jobs.list({ limit: MAX_PAGE }, { signal })).jobs : [await jobs.get(id, { signal })];
    let seen: ReadonlyMap<string, string> = new Map();
    for (;;) {
      const found = await whileAway(context, look);
      const now = new Map<string, string>();
      for (const job of found.toReversed()) {
        const state = `${job.status} ${job.assigned_worker} ${job.waiting_reason}`;
        if (seen.get(job.id) !== state) output.line(job, changeLine(job));
        now.set(job.id, state);
      }
      // A job that newer ones have pushed off the page does not come back to it.
      seen = now;
      const [job] = found;
      if (id !== undefined && job !== undefined && isFinal(job.status)) return job.status === "completed" ? 0 : 1;
      await setTimeout(WATCH_EVERY_MS, null, { signal }).catch(() => signal.throwIfAborted());
    }
  },
};

export const jobCommands: readonly Verb[] = [
  list,
  get,
  command("cancel", "Cancels jobs", [
    "jobs cancel job_1 job_2",
    "jobs cancel --filter status=pending --filter tag=nightly --dry-run",
  ]),
  command("retry", "Puts failed or stuck jobs back into the queue", [
    "jobs retry job_1",
    "jobs retry --filter error_code=timeout --filter since=2h --yes",
  ]),
  events,
  attempts,
  watch,
];
