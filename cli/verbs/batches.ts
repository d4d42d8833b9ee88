// `batch run|list|get|cancel`. A run names its file's SHA-256 in the batch, so that running the same command again goes
// on with the batch that there is.

import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import type { BatchResource } from "../../contract/batch.ts";
import { objectOf } from "../../contract/text/json-object.ts";
import { UsageError } from "../failure.ts";
import type { Input } from "../input.ts";
import { checkWritable, isSameFile, openLocal, removeFile, STANDARD, streamLocal } from "../local-file.ts";
import { barOf, countedBlob, Progress } from "../progress.ts";
import { exactUsd } from "../terminal/usd.ts";
import { when } from "../terminal/when.ts";
import type { Context, Verb } from "../verb.ts";
import { whileAway } from "../while-away.ts";
import { fetchFile } from "../write-answer.ts";
import { PAGE_FLAGS, showPages } from "./pages.ts";

const SOURCE = "source_sha256";
const LOOK_EVERY_MS = 2_000;
/** Batches that are looked through for an earlier run. */
const MAX_LOOKED_AT = 200;
/** A run of the same file begins a new batch after these. */
const OVER: ReadonlySet<string> = new Set(["failed", "cancelled", "expired"]);

const args = [{ name: "id", says: "the batch's id" }] as const;

const digestOf = async (file: string): Promise<string> => {
  const hash = createHash("sha256");
  await pipeline(await streamLocal(file), hash);
  return hash.digest("hex");
};

/** The endpoint that the first line names. */
const endpointOf = async (file: string): Promise<string> => {
  const source = await streamLocal(file);
  let fault = "it has no line";
  try {
    for await (const line of createInterface({ input: source })) {
      // Without a byte order mark, which the service takes, too.
      const text = line.trim();
      if (text === "") continue;
      const { url } = objectOf(JSON.parse(text));
      if (typeof url === "string") return url;
      fault = 'its first line names no "url"';
      break;
    }
  } catch (error) {
    throw new UsageError(`${file}: its first line is no JSON: ${(error as Error).message}`);
  } finally {
    source.destroy();
  }
  throw new UsageError(`${file}: ${fault}: every line is {custom_id, method, url, body}`);
};

/** The batch of an earlier run of the same file. */
const findEarlier = async ({ client, signal }: Context, digest: string): Promise<BatchResource | null> => {
  let looked = 0;
  for await (const batch of client().batches.list({ limit: 50 }, { signal })) {
    if (batch.metadata?.[SOURCE] === digest && !OVER.has(batch.status)) return batch;
    looked += 1;
    if (looked >= MAX_LOOKED_AT) break;
  }
  return null;
};

const begin = async (context: Context, input: Input): Promise<string> => {
  const { client, output, signal } = context;
  const file = input.arg("file");
  const digest = await digestOf(file);
  const earlier = input.is("new") ? null : await findEarlier(context, digest);
  if (earlier !== null) {
    output.say(`Goes on with ${earlier.id}, which has this file (--new begins another).`);
    return earlier.id;
  }
  const endpoint = await endpointOf(file);
  const blob = await openLocal(file, "application/jsonl");
  const name = file.split(/[/\\]/).at(-1);
  const progress = new Progress(output, `Sends ${file}`, blob.size);
  const stored = await client()
    .files.create(countedBlob(blob, progress), { name, purpose: "batch", signal })
    .finally(() => progress.end());
  const metadata = { [SOURCE]: digest };
  return client().batches.create({ file: stored.id, endpoint, window: input.text("window"), metadata }, { signal });
};

const progressOf = (batch: BatchResource): string => {
  const { total, completed, failed, cancelled, lines_per_minute: rate, eta, waiting_reason: reason } = batch;
  const done = completed + failed + cancelled;
  const when = eta === null ? "" : `, ends about ${new Date(eta).toLocaleTimeString()}`;
  const waits = batch.running > 0 || reason === null ? "" : `; waits: ${reason}`;
  return `${barOf(done, total)} ${done}/${total} ${batch.status}, ${rate} lines/min${when}${failed > 0 ? `, ${failed} failed` : ""}${waits}`;
};

const follow = async (context: Context, id: string): Promise<BatchResource> => {
  const { output, signal } = context;
  for (let shown = ""; ; await pause(LOOK_EVERY_MS, undefined, { signal })) {
    const batch = await whileAway(context, () => context.client().batches.get(id, { signal }));
    const text = progressOf(batch);
    const isOver = batch.ended_at !== null;
    if (text !== shown || isOver) output.progress(text, isOver);
    shown = text;
    if (isOver) return batch;
  }
};

const errorsOf = (output: string): string => `${output}.errors`;

/** Of a batch whose file was refused: nothing of it ran. */
const sayFaults = async ({ client, output, signal }: Context, { id, status }: BatchResource): Promise<void> => {
  if (status !== "failed") return;
  for (const { line, message } of await client().batches.faults(id, { signal }))
    output.say(line === null ? message : `Line ${line}: ${message}`);
};

/** A file of an earlier run does not stay where this one has none. */
const download = async (context: Context, file: string | null, to: string): Promise<void> => {
  if (file === null) return removeFile(to);
  await fetchFile(context, file, to);
  context.output.say(`Wrote ${to}.`);
};

const run = async (context: Context, input: Input): Promise<number> => {
  const { output } = context;
  const to = input.text("output");
  if (to === STANDARD) throw new UsageError("--output needs a file: the errors are written beside it");
  if (to !== undefined) {
    await checkWritable(to);
    for (const written of [to, errorsOf(to)])
      if (await isSameFile(input.arg("file"), written))
        throw new UsageError(`--output ${to} would write over ${input.arg("file")}: give another file`);
  }
  const id = await begin(context, input);
  if (to === undefined && !input.is("wait")) {
    output.value({ id }, id);
    return 0;
  }
  const batch = await follow(context, id);
  await sayFaults(context, batch);
  if (to !== undefined && batch.status !== "failed") {
    await download(context, batch.output_file, to);
    await download(context, batch.error_file, errorsOf(to));
  }
  output.value(batch, `${batch.id} ${batch.status}`);
  return batch.status === "completed" && batch.failed === 0 ? 0 : 1;
};

const shownField = ([name, value]: [string, unknown]): [string, unknown] => {
  if (name === "cost_usd") return [name, exactUsd(Number(value))];
  return name.endsWith("_at") ? [name, when(String(value))] : [name, value];
};

const show = async (context: Context, batch: BatchResource): Promise<void> => {
  context.output.record(batch, [
    ...Object.entries(batch)
      .filter(([, value]) => typeof value !== "object")
      .map(shownField),
    ["errors", batch.errors.map(({ code, count }) => `${code} ${count}`).join(", ")],
    ["workers", batch.workers.map(({ instance, completed }) => `${instance} ${completed}`).join(", ")],
  ]);
  await sayFaults(context, batch);
};

export const batchCommands: readonly Verb[] = [
  {
    name: "batch run",
    says: "Runs a file of requests; the same command again goes on where it was interrupted",
    examples: ["batch run requests.jsonl --output answers.jsonl", "batch run requests.jsonl --window 7d --wait"],
    args: [{ name: "file", says: "JSONL: {custom_id, method, url, body} a line" }],
    flags: {
      window: { takes: "time", says: "what it may take: 1h to 7d; 24h if it is left out" },
      output: { takes: "file", says: "also -o: waits, writes the answers there, and errors to <file>.errors" },
      wait: { takes: null, says: "waits for its end and shows progress" },
      new: { takes: null, says: "begins a new batch, although one has the same file" },
    },
    run,
  },
  {
    name: "batch list",
    says: "Lists batches, newest first",
    examples: ["batch list", "batch list --all --json"],
    flags: PAGE_FLAGS,
    run: async ({ client, output, signal }, input) => {
      const read = (limit: number | null) => client().batches.list({ limit }, { signal });
      await showPages(output, input, "batches", read, [
        { title: "id", of: ({ id }) => id },
        { title: "status", of: ({ status }) => status },
        { title: "done", of: ({ completed, failed, cancelled }) => completed + failed + cancelled },
        { title: "total", of: ({ total }) => total },
        { title: "failed", of: ({ failed }) => failed },
        { title: "created", of: ({ created_at: at }) => when(at) },
        { title: "waits for", of: ({ waiting_reason: reason }) => reason },
      ]);
    },
  },
  {
    name: "batch get",
    says: "Shows a batch",
    examples: ["batch get batch_1"],
    args,
    run: async (context, input) =>
      show(context, await context.client().batches.get(input.arg("id"), { signal: context.signal })),
  },
  {
    name: "batch cancel",
    says: "Cancels a batch: what has an answer keeps it",
    examples: ["batch cancel batch_1"],
    args,
    run: async (context, input) =>
      show(context, await context.client().batches.cancel(input.arg("id"), { signal: context.signal })),
  },
];
