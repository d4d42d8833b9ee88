// Creates a job and, if asked, waits for its result or prints it while it is written.

import type { JobResource, NewJobRequest } from "../../contract/jobs/job.ts";
import { isObject, objectOf, parseJson } from "../../contract/text/json-object.ts";
import { PRIORITIES, TIERS } from "../../contract/words/values.ts";
import { UsageError } from "../failure.ts";
import type { Input } from "../input.ts";
import type { Output } from "../output.ts";
import { pairsOf } from "../pairs.ts";
import type { Context, Verb } from "../verb.ts";
import { REQUIREMENTS } from "./requirements.ts";
import { waitAloud, waitLive } from "./wait-aloud.ts";

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
    ...(file === undefined ? {} : { input: inputOf(await readInput(file)) }),
    ...(input.is("file") ? { files: [...input.texts("file")] } : {}),
    ...(input.is("metadata") ? { metadata: pairsOf(input, "metadata") } : {}),
    ...optional("run_at", input.time("run-at", "future")),
    ...optional("timeout_seconds", input.number("timeout")),
  };
};

/** A JSON text and a JSON object are taken as what they say; any other file is text. */
const inputOf = (text: string): NonNullable<NewJobRequest["input"]> => {
  const value = parseJson(text);
  return typeof value === "string" || isObject(value) ? value : text;
};

const optional = <Name extends string, Value>(name: Name, value: Value | undefined): { [N in Name]?: Value } =>
  (value === undefined ? {} : { [name]: value }) as { [N in Name]?: Value };

/** A result for people: its text, if it has one, or the model's refusal. */
export const textOf = (value: unknown): string => {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "";
  const { text, refusal } = value as { text?: unknown; refusal?: unknown };
  if (text === "" && typeof refusal === "string") return refusal;
  return typeof text === "string" ? text : JSON.stringify(value, null, 2);
};

/** A result may only name what its worker stored. */
const sayStored = (output: Output, { result_files: stored }: JobResource): void => {
  if (output.isJson) return;
  for (const { id, name } of stored) output.say(`Stored ${name}: signalbox files get ${id} --output <file>`);
};

/** Prints the result on stdout; a job that did not complete is reported on stderr, with exit code 1. */
const showEnd = ({ output }: Context, job: JobResource): number => {
  if (job.status === "completed") {
    output.value(job, textOf(job.result));
    sayStored(output, job);
    return 0;
  }
  if (output.isJson) output.value(job, "");
  output.say(unhappyEnd(job));
  return 1;
};

const unhappyEnd = ({ id, status, error }: JobResource): string =>
  `Job ${id} ${status}${error === null ? "" : `: ${error.code}: ${error.message}`}`;

/** Whatever ends the waiting, a signal or a lost connection: the job has an id that its user must know. */
const followed = async <Result>({ output }: Context, id: string, following: Promise<Result>): Promise<Result> => {
  try {
    return await following;
  } catch (error) {
    output.say(`The job continues: signalbox jobs get ${id}`);
    throw error;
  }
};

/** The text of a chunk of an ordinary job. */
const chunkText = (data: unknown): string => {
  const { text } = objectOf(data);
  return typeof text === "string" ? text : "";
};

const streamed = async (context: Context, job: NewJobRequest): Promise<number> => {
  const { output, signal } = context;
  const { jobs } = context.client();
  const { id } = await jobs.create({ ...job, stream: true }, { signal });
  output.say(`Job ${id}`);
  return followed(context, id, showWhileWritten(context, id));
};

const showWhileWritten = async (context: Context, id: string): Promise<number> => {
  const { output } = context;
  const done = new AbortController();
  const signal = AbortSignal.any([context.signal, done.signal]);
  const ending = waitAloud({ ...context, signal }, id);
  // It is awaited after the stream, which may fail first.
  ending.catch(() => undefined);
  try {
    const last = await showChunks(context, id);
    const ended = await ending;
    if (ended.status === "completed") {
      // Its worker reported no output while it wrote.
      if (!output.isJson && last === "") output.raw(`${textOf(ended.result)}\n`);
      sayStored(output, ended);
      return 0;
    }
    output.say(unhappyEnd(ended));
    return 1;
  } finally {
    done.abort();
  }
};

/** @returns the last text that was written. */
const showChunks = async (context: Context, id: string): Promise<string> => {
  const { output, signal } = context;
  const { jobs } = context.client();
  let last = "";
  for await (const event of jobs.stream(id, { signal })) {
    if (output.isJson) output.line(event, "");
    else if (event.type === "chunk") {
      last = chunkText(event.data) || last;
      output.raw(chunkText(event.data));
    }
  }
  if (!output.isJson && last !== "" && !last.endsWith("\n")) output.raw("\n");
  return last;
};

export const runCommand: Verb = {
  name: "run",
  says: "Creates a job and prints its id, or its result with --wait",
  examples: [
    'run "Say hello." --wait',
    'run "Summarise this." --input notes.txt --model llama3.2 --stream',
    "run - --tag nightly --metadata team=search < prompt.txt",
    'run "Describe it." --file file_1 --wait',
  ],
  args: [{ name: "prompt", says: "the prompt; - reads it from stdin" }],
  flags: {
    ...REQUIREMENTS,
    input: { takes: "file", says: "the job's input, a JSON object or text; - reads it from stdin" },
    file: { takes: "id", says: "a stored file that its worker gets: `files put` prints its id", isRepeated: true },
    metadata: { takes: "name=value", says: "kept with the job, to find and charge it by", isRepeated: true },
    "run-at": { takes: "time", says: "not before this time: RFC 3339, or a span from now, such as 2h" },
    timeout: { takes: "seconds", says: "ends the job as failed after so many seconds of running" },
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
    return showEnd(context, await followed(context, created.id, waitLive(context, created.id)));
  },
};
