// Jobs: run, read and change them.

import type { JobResource, NewJobRequest } from "../../contract/job.ts";
import type { JobListQuery } from "../../contract/job-list.ts";
import { isFinal, JOB_STATUSES, MAX_PAGE, PRIORITIES, TIERS } from "../../contract/values.ts";
import { Failure, UsageError } from "../failure.ts";
import type { Input } from "../input.ts";
import { type Column, printable } from "../output.ts";
import type { Context, Flag, Verb } from "../verb.ts";

const ID = { name: "id", says: "the job's id" } as const;
const WATCH_EVERY_MS = 2_000;
const SHOWN_PROMPT = 60;

export const REQUIREMENTS: Readonly<Record<string, Flag>> = {
  model: { takes: "name", says: "the model to use" },
  provider: { takes: "name", says: "the provider to use" },
  tag: { takes: "tag", says: "a tag that the worker must offer", isRepeated: true },
  priority: { takes: PRIORITIES.join("|"), says: "the priority in the queue (normal)" },
  tier: { takes: TIERS.join("|"), says: "the price class" },
};

const FILTERS: Readonly<Record<string, Flag>> = {
  status: { takes: JOB_STATUSES.join("|"), says: "only jobs with this status" },
  provider: { takes: "name", says: "only jobs that asked for it or ran on it" },
  model: { takes: "name", says: "only jobs that asked for it or ran on it" },
  tag: { takes: "tag", says: "only jobs that ask for this tag" },
  worker: { takes: "instance", says: "only jobs of this worker" },
  schedule: { takes: "name", says: "only jobs of this schedule" },
  key: { takes: "id", says: "only jobs created by this key" },
  "error-code": { takes: "code", says: "only jobs that failed with this code" },
  since: { takes: "time", says: "created at this time or later (RFC 3339)" },
  until: { takes: "time", says: "created before this time" },
  search: { takes: "words", says: "the beginning of an id, or words of the prompt or the error" },
};

/** The API calls it `q`. */
const filterOf = (input: Input): Partial<JobListQuery> => {
  const { search, ...fields } = input.given(...Object.keys(FILTERS));
  return { ...fields, ...(search === undefined ? {} : { q: search }) } as Partial<JobListQuery>;
};

const COLUMNS: readonly Column<JobResource>[] = [
  { title: "id", of: ({ id }) => id },
  { title: "status", of: ({ status }) => status },
  { title: "worker", of: ({ assigned_worker }) => assigned_worker },
  { title: "created", of: ({ created_at }) => created_at },
  { title: "prompt", of: ({ prompt, error }) => (error === null ? prompt.slice(0, SHOWN_PROMPT) : error.message) },
];

/** A result for people: its text, if it has one. */
const textOf = (value: unknown): string => {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "";
  const { text } = value as { text?: unknown };
  return typeof text === "string" ? text : JSON.stringify(value, null, 2);
};

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
    ["created", job.created_at],
    ["started", job.started_at],
    ["finished", job.finished_at],
    ["cost", job.cost_usd === null ? null : `$${job.cost_usd}`],
    ["prompt", job.prompt],
    ["error", job.error === null ? null : `${job.error.code}: ${job.error.message}`],
    ["result", textOf(job.result)],
  ]);

const newJob = async ({ readInput }: Context, input: Input): Promise<NewJobRequest> => {
  const prompt = input.arg("prompt");
  const file = input.text("input");
  if (prompt === "-" && file === "-") throw new UsageError("only one of the prompt and --input can be read from stdin");
  return {
    prompt: prompt === "-" ? await readInput("-") : prompt,
    ...(input.given("model", "provider") as { model?: string; provider?: string }),
    ...(input.texts("tag").length === 0 ? {} : { tags: [...input.texts("tag")] }),
    ...optional("priority", input.choice("priority", PRIORITIES)),
    ...optional("tier", input.choice("tier", TIERS)),
    ...(file === undefined ? {} : { input: jsonOrText(await readInput(file)) }),
  };
};

const optional = <Name extends string, Value>(name: Name, value: Value | undefined): { [N in Name]?: Value } =>
  (value === undefined ? {} : { [name]: value }) as { [N in Name]?: Value };

const jsonOrText = (text: string) => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

/** Prints the result on stdout; a job that did not complete is reported on stderr, with exit code 1. */
const showEnd = ({ output }: Context, job: JobResource): number => {
  if (job.status === "completed") {
    output.value(job, textOf(job.result));
    return 0;
  }
  if (output.isJson) output.value(job, "");
  output.say(`Job ${job.id} ${job.status}${job.error === null ? "" : `: ${job.error.code}: ${job.error.message}`}`);
  return 1;
};

const goesOn = (context: Context, id: string): void =>
  context.signal.addEventListener("abort", () => context.output.say(`The job continues: signalbox jobs get ${id}`), {
    once: true,
  });

/** The text of a chunk of an ordinary job. */
const chunkText = (data: unknown): string =>
  typeof data === "object" && data !== null && typeof (data as { text?: unknown }).text === "string"
    ? (data as { text: string }).text
    : "";

const streamed = async (context: Context, job: NewJobRequest): Promise<number> => {
  const { output, signal } = context;
  const { jobs } = context.client();
  const wanted: NewJobRequest & { stream: true } = { ...job, stream: true };
  const { id } = await jobs.create(wanted, { signal });
  output.say(`Job ${id}`);
  goesOn(context, id);
  let last = "";
  for await (const event of jobs.stream(id, { signal })) {
    if (output.isJson) output.line(event, "");
    else if (event.type === "chunk") {
      last = chunkText(event.data) || last;
      output.raw(printableLines(chunkText(event.data)));
    }
  }
  if (!output.isJson && last !== "" && !last.endsWith("\n")) output.raw("\n");
  const ended = await jobs.wait(id, { signal });
  if (ended.status === "completed") {
    // Its worker told nothing while it wrote.
    if (!output.isJson && last === "") output.raw(`${printableLines(textOf(ended.result))}\n`);
    return 0;
  }
  output.say(`Job ${id} ${ended.status}${ended.error === null ? "" : `: ${ended.error.code}: ${ended.error.message}`}`);
  return 1;
};

/** Keeps line breaks and tabs, replaces other control characters. */
const printableLines = (text: string): string => text.split("\n").map(printable).join("\n");

const run: Verb = {
  name: "run",
  says: "Creates a job and prints its id, or its result with --wait",
  args: [{ name: "prompt", says: "the prompt; - reads it from stdin" }],
  flags: {
    ...REQUIREMENTS,
    input: { takes: "file", says: "the job's input, JSON or text; - reads it from stdin" },
    wait: { takes: null, says: "waits for the end and prints the result" },
    stream: { takes: null, says: "prints the output while it is written" },
  },
  run: async (context, input) => {
    const { output, signal } = context;
    const job = await newJob(context, input);
    if (input.is("stream")) return streamed(context, job);
    const { jobs } = context.client();
    const created = await jobs.create(job, { signal });
    if (!input.is("wait")) {
      output.value(created, created.id);
      return;
    }
    goesOn(context, created.id);
    return showEnd(context, await jobs.wait(created.id, { signal }));
  },
};

const list: Verb = {
  name: "jobs list",
  says: "Lists jobs, newest first",
  flags: {
    ...FILTERS,
    limit: { takes: "n", says: "the number of jobs to list (50)" },
    all: { takes: null, says: "lists every page" },
  },
  run: async ({ client, output, signal }, input) => {
    input.choice("status", JOB_STATUSES);
    const limit = input.number("limit") ?? (input.is("all") ? MAX_PAGE : undefined);
    const found = client().jobs.list(
      { ...filterOf(input), limit: limit === undefined ? null : Math.min(limit, MAX_PAGE) },
      { signal },
    );
    const wantsMore = input.is("all") || (limit ?? 0) > MAX_PAGE;
    if (!wantsMore) {
      const page = await found;
      output.table(page, page.jobs, COLUMNS);
      return;
    }
    const jobs: JobResource[] = [];
    const most = input.is("all") ? Number.POSITIVE_INFINITY : (limit ?? 0);
    for await (const job of found) if (jobs.push(job) >= most) break;
    output.table({ jobs, total: (await found).total }, jobs, COLUMNS);
  },
};

const get: Verb = {
  name: "jobs get",
  says: "Shows a job with its result",
  args: [ID],
  flags: { wait: { takes: null, says: "waits until the job is final" } },
  run: async (context, input) => {
    const { jobs } = context.client();
    const id = input.arg("id");
    const { signal } = context;
    showJob(context, input.is("wait") ? await jobs.wait(id, { signal }) : await jobs.get(id, { signal }));
  },
};

/** Handles each id; a refused one does not stop the others. */
const command = (verb: "cancel" | "retry", says: string): Verb => ({
  name: `jobs ${verb}`,
  says,
  args: [{ ...ID, isMany: true }],
  run: async ({ client, output, signal }, input) => {
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
  args: [ID],
  run: async ({ client, output, signal }, input) => {
    const found = await client().jobs.events(input.arg("id"), { signal });
    output.table(found, found.events, [
      { title: "at", of: ({ at }) => at },
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
  args: [ID],
  run: async ({ client, output, signal }, input) => {
    const found = await client().jobs.attempts(input.arg("id"), { signal });
    output.table(found, found.attempts, [
      { title: "lease", of: ({ lease }) => lease },
      { title: "worker", of: ({ worker }) => worker },
      { title: "model", of: ({ model }) => model },
      { title: "started", of: ({ started_at }) => started_at },
      { title: "finished", of: ({ finished_at }) => finished_at },
      { title: "usd", of: ({ cost_usd }) => cost_usd },
      { title: "outcome", of: ({ outcome, error }) => (error === null ? outcome : `${outcome}: ${error.message}`) },
    ]);
  },
};

const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => resolve(clearTimeout(timer)), { once: true });
  });

const changeLine = (job: JobResource): string =>
  [job.updated_at, job.id, job.status, job.assigned_worker ?? "", job.error?.message ?? job.waiting_reason ?? ""]
    .map((part) => printable(String(part)))
    .join("\t");

/** One job until it is final, or all jobs until interrupted: one line per change. */
const watch: Verb = {
  name: "jobs watch",
  says: "Prints one line per change, of one job until its end or of the newest jobs",
  args: [{ ...ID, isOptional: true }],
  run: async ({ client, output, signal }, input) => {
    const { jobs } = client();
    const id = input.optionalArg("id");
    const seen = new Map<string, string>();
    for (;;) {
      const found =
        id === undefined ? (await jobs.list({ limit: MAX_PAGE }, { signal })).jobs : [await jobs.get(id, { signal })];
      for (const job of found.toReversed()) {
        const state = `${job.status} ${job.assigned_worker} ${job.waiting_reason}`;
        if (seen.get(job.id) !== state) output.line(job, changeLine(job));
        seen.set(job.id, state);
      }
      const [job] = found;
      if (id !== undefined && job !== undefined && isFinal(job.status)) return job.status === "completed" ? 0 : 1;
      await sleep(WATCH_EVERY_MS, signal);
      signal.throwIfAborted();
    }
  },
};

const queue: Verb = {
  name: "queue",
  says: "Lists what waits and why",
  run: async ({ client, output, signal }) => {
    const found = await client().jobs.queue({ signal });
    output.table(found, found.groups, [
      { title: "jobs", of: ({ count }) => count },
      { title: "provider", of: ({ provider }) => provider },
      { title: "model", of: ({ model }) => model },
      { title: "tags", of: ({ tags }) => tags },
      { title: "oldest", of: ({ oldest_at }) => oldest_at },
      { title: "reason", of: ({ reason }) => reason },
    ]);
  },
};

const failures: Verb = {
  name: "failures",
  says: "Lists what failed, by error and provider",
  flags: {
    since: { takes: "time", says: "start of the span (RFC 3339)" },
    until: { takes: "time", says: "end of the span" },
  },
  run: async ({ client, output, signal }, input) => {
    const found = await client().jobs.failures(input.given("since", "until"), { signal });
    output.table(found, found.failures, [
      { title: "jobs", of: ({ count }) => count },
      { title: "before", of: ({ previous_count }) => previous_count },
      { title: "code", of: ({ code }) => code },
      { title: "provider", of: ({ provider }) => provider },
      { title: "model", of: ({ model }) => model },
      { title: "last", of: ({ last_at }) => last_at },
      { title: "message", of: ({ message }) => message },
    ]);
  },
};

const explain: Verb = {
  name: "explain",
  says: "Shows which worker would get such a job, and why the others would not",
  flags: { ...REQUIREMENTS, job: { takes: "id", says: "explains this waiting job instead" } },
  run: async ({ client, output, signal }, input) => {
    const job = input.text("job");
    const urgency = input.choice("priority", PRIORITIES);
    const tier = input.choice("tier", TIERS);
    const tags = input.texts("tag").join(",");
    const found = await client().jobs.explain(
      job === undefined ? { ...input.given("provider", "model"), job_tags: tags, urgency, tier } : { job_id: job },
      { signal },
    );
    output.table(found, found.workers, [
      { title: "worker", of: ({ instance }) => instance },
      { title: "provider", of: ({ provider }) => provider },
      { title: "eligible", of: ({ eligible }) => (eligible ? "yes" : "no") },
      { title: "score", of: ({ score }) => score?.toFixed(1) },
      { title: "why not", of: ({ reasons }) => reasons.join("; ") },
    ]);
    output.say(
      found.selected === null
        ? ["No worker would get it.", ...found.notes].join(" ")
        : `${found.selected} would get it.`,
    );
  },
};

export const readJson = (text: string, where: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Failure(`${where} is not JSON: ${(error as Error).message}`);
  }
};

export const jobCommands: readonly Verb[] = [
  run,
  list,
  get,
  command("cancel", "Cancels jobs"),
  command("retry", "Puts failed or stuck jobs back into the queue"),
  events,
  attempts,
  watch,
  queue,
  failures,
  explain,
];
