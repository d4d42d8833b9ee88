// Batches through the clients' own packages: how many lines a second go in, are answered and come out, what that adds to
// the memory of each process, and what a full batch costs somebody who waits. Each batch is checked: every line once.

import { setTimeout as pause } from "node:timers/promises";
import { anthropicClient, BATCH_MODEL, type BatchClient, openAiClient } from "../batches/batch-clients.ts";
import { startBatchWorkers } from "../batches/batch-worker.ts";
import { Connection } from "../connection.ts";
import { figure } from "../figures.ts";
import { median } from "../load.ts";
import { refuseGrowth, watchGrowth } from "../measure/memory.ts";
import type { Bench } from "../plan.ts";
import { createTenant, type Tenant } from "../signalbox.ts";

const LINES = { quick: [10, 1_000], usual: [10, 1_000, 10_000], full: [10, 1_000, 100_000] } as const;
const WORKERS = { count: 4, places: 64, generationMs: 0 };
const LOOK_EVERY_MS = 50;
/** Of any process, however many lines pass. */
const MAX_GROWTH_MIB = 300;
/** A model that takes this long, on few places, so that a batch fills them. */
const SLOW = { count: 2, places: 4, generationMs: 250 };
const SAMPLES = { quick: 10, usual: 40, full: 100 } as const;
const FILLING_LINES = 5_000;
/** A share of its lines after which a batch is cancelled; a small one, which would be over by then, at once. */
const CANCELLED_AT = 0.2;
const SMALL_LINES = 100;

interface Progress {
  readonly status: string;
  readonly total: number;
  readonly completed: number;
}

export const batches = async (bench: Bench): Promise<void> => {
  for (const clientOf of [openAiClient, anthropicClient]) {
    const tenant = await createTenant(bench.signalbox.port);
    const workers = await startBatchWorkers(tenant, WORKERS);
    const stage = { bench, tenant, client: clientOf(tenant) };
    const made: string[] = [];
    for (const lines of LINES[bench.scale]) made.push(await runWhole(stage, lines), await cancelHalfway(stage, lines));
    const listed = await stage.client.list();
    if (listed.join() !== made.toReversed().join()) throw new Error(`${stage.client.of} lists ${listed}, not ${made}`);
    workers.close();
  }
  await sayInteractive(bench);
};

interface Stage {
  readonly bench: Bench;
  readonly tenant: Tenant;
  readonly client: BatchClient;
}

/** Each on a connection of its own: what is between two may take longer than a connection is kept. */
const progressOf = async ({ port, authorization }: Tenant, id: string): Promise<Progress> => {
  const answer = await fetch(`http://127.0.0.1:${port}/api/batches/${id}`, { headers: { authorization } });
  return (await answer.json()) as Progress;
};

const namesOf = (lines: number): string[] => Array.from({ length: lines }, (_, at) => `line-${at}`);

const secondsSince = (at: number): number => (performance.now() - at) / 1000;

const runWhole = async ({ bench, tenant, client }: Stage, lines: number): Promise<string> => {
  const grown = watchGrowth(bench.signalbox);
  const say = (what: string, seconds: number, note = ""): void => {
    const named = `${lines.toLocaleString("en")} lines by ${client.of}: ${what}`;
    bench.say(figure({ part: "batches", what: named, unit: "lines/s", signalbox: lines / seconds, note }));
  };
  const names = namesOf(lines);
  const startedAt = performance.now();
  const id = await client.create(names);
  while ((await progressOf(tenant, id)).status === "validating") await pause(LOOK_EVERY_MS);
  const readAt = performance.now();
  const memory = await watchMemory({ bench, tenant, client }, id, lines);
  const endedAt = performance.now();
  const answered = await checked(client, id, names);
  if (answered !== lines) throw new Error(`${lines - answered} of ${lines} lines have no answer`);
  const growth = grown();
  say("sent and checked", (readAt - startedAt) / 1000);
  say("answered", (endedAt - readAt) / 1000, `${growth.note}; ${memory}`);
  say("downloaded", secondsSince(endedAt));
  refuseGrowth(growth, MAX_GROWTH_MIB);
  return id;
};

/** Until it has ended. Answers what each process had after a fifth of the lines, and at the end. */
const watchMemory = async ({ bench, tenant, client }: Stage, id: string, lines: number): Promise<string> => {
  let early: ReadonlyMap<string, number> | null = null;
  while (!(await client.isOver(id))) {
    if (early === null && (await progressOf(tenant, id)).completed >= lines / 5)
      early = bench.signalbox.residentByProcess();
    await pause(LOOK_EVERY_MS);
  }
  const late = bench.signalbox.residentByProcess();
  const shown = [...late].map(([name, bytes]) => `${name} ${mib(early?.get(name) ?? bytes)} → ${mib(bytes)}`);
  return `after a fifth → at the end: ${shown.join(", ")} MiB`;
};

const mib = (bytes: number): number => Math.round(bytes / 1024 / 1024);

/** Every name stands once in the results. Returns how many were answered. */
const checked = async (client: BatchClient, id: string, names: readonly string[]): Promise<number> => {
  const missing = new Set(names);
  let answered = 0;
  for await (const { name, isAnswered } of client.results(id)) {
    if (!missing.delete(name)) throw new Error(`${client.of}: ${name} stands twice in the results of ${id}`);
    answered += Number(isAnswered);
  }
  if (missing.size > 0) throw new Error(`${client.of}: ${missing.size} lines are missing in the results of ${id}`);
  return answered;
};

const cancelHalfway = async ({ bench, tenant, client }: Stage, lines: number): Promise<string> => {
  const names = namesOf(lines);
  const id = await client.create(names);
  const isEarly = ({ status, completed }: Progress): boolean =>
    status === "validating" || (status === "in_progress" && completed < lines * CANCELLED_AT);
  if (lines > SMALL_LINES) while (isEarly(await progressOf(tenant, id))) await pause(LOOK_EVERY_MS);
  const cancelledAt = performance.now();
  const isInTime = await client.cancel(id);
  while (!(await client.isOver(id))) await pause(LOOK_EVERY_MS);
  const seconds = secondsSince(cancelledAt);
  const answered = await checked(client, id, names);
  const what = `${lines.toLocaleString("en")} lines by ${client.of}: cancelled`;
  const note = isInTime ? `${answered} were answered` : "it was over before";
  bench.say(figure({ part: "batches", what, unit: "s", signalbox: seconds, note }));
  return id;
};

/** Somebody who waits for an answer, alone and beside a batch that fills every place that it may have. */
const sayInteractive = async (bench: Bench): Promise<void> => {
  const tenant = await createTenant(bench.signalbox.port);
  const workers = await startBatchWorkers(tenant, SLOW);
  const connection = await Connection.open(tenant.port, tenant.authorization);
  const alone = await answerTimes(connection, SAMPLES[bench.scale]);
  const id = await fill(tenant);
  const beside = await answerTimes(connection, SAMPLES[bench.scale]);
  const { status } = await progressOf(tenant, id);
  if (status !== "in_progress") throw new Error(`the batch was ${status} before the samples were taken`);
  const [before, after] = [median(alone), median(beside)];
  const note = `${before.toFixed(0)} ms alone; a generation takes ${SLOW.generationMs} ms`;
  bench.say(
    figure({ part: "batches", what: "an answer beside a full batch, p50", unit: "ms", signalbox: after, note }),
  );
  await connection.call("POST", `/api/batches/${id}/cancel`);
  connection.close();
  workers.close();
  if (after - before > SLOW.generationMs) throw new Error("an answer beside a batch waits for more than a generation");
};

const fill = async (tenant: Tenant): Promise<string> => {
  const id = await openAiClient(tenant).create(namesOf(FILLING_LINES));
  while ((await progressOf(tenant, id)).completed === 0) await pause(LOOK_EVERY_MS);
  return id;
};

const answerTimes = async (connection: Connection, count: number): Promise<number[]> => {
  const body = { model: BATCH_MODEL, messages: [{ role: "user", content: "Say hello." }] };
  const times: number[] = [];
  for (let sample = 0; sample < count; sample += 1) {
    const startedAt = performance.now();
    await connection.call("POST", "/v1/chat/completions", body);
    times.push(performance.now() - startedAt);
  }
  return times;
};
