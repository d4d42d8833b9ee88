// Streams through the front door: a client, the server, a real worker, and a runtime that costs nothing. Measures the
// cost of a chunk in all our processes, the time added to the first token, and what open streams cost other work.

import path from "node:path";
import { figure } from "../figures.ts";
import { socketJobs } from "../jobs.ts";
import { interleaved, median } from "../load.ts";
import { type Running, runProcess } from "../measure/processes.ts";
import type { Bench } from "../plan.ts";
import { createTenant, openSignalbox, type Tenant } from "../signalbox.ts";
import { MODEL, type StreamingRuntime, startStreamingRuntime } from "../streams/streaming-runtime.ts";
import { chunkCost, openStream } from "../streams/streams.ts";

const WORKER = path.resolve(import.meta.dirname, "../../worker/main.ts");
const TOKENS_A_SECOND = 30;
const EVERY_MS = 1000 / TOKENS_A_SECOND;
const STREAMS = 100;
const MANY_STREAMS = 1_000;
const SAMPLES = { quick: 20, usual: 60, full: 200 } as const;
/** Code that has just been loaded is slow for its first hundreds of calls. */
const WARM_ROUNDS = 40;
const WARM_STREAMS = 20;
const SECONDS = { quick: 2, usual: 5, full: 10 } as const;
const DISPATCH_CLIENTS = 32;
const FOREVER = 1_000_000;
const KIB = 1024;

interface Stage {
  readonly bench: Bench;
  readonly tenant: Tenant;
  readonly runtime: StreamingRuntime;
  readonly worker: Running;
  readonly url: string;
}

export async function frontDoor(bench: Bench): Promise<void> {
  const tenant = await createTenant(bench.signalbox.port);
  const runtime = await startStreamingRuntime();
  const url = `http://127.0.0.1:${tenant.port}`;
  const worker = await startWorker(tenant, runtime, url);
  const stage: Stage = { bench, tenant, runtime, worker, url };
  try {
    await sayFirstToken(stage);
    await sayChunks(stage, STREAMS, SECONDS[bench.scale]);
    await sayLeaving(stage);
    await sayDispatch(stage);
    if (bench.scale === "full") await sayChunks(stage, MANY_STREAMS, SECONDS.full);
  } finally {
    await worker.stop();
    runtime.stop();
  }
}

const startWorker = ({ authorization }: Tenant, runtime: StreamingRuntime, url: string): Promise<Running> =>
  runProcess({
    command: process.execPath,
    args: [
      "--no-warnings",
      WORKER,
      "--runtime",
      "vllm",
      "--instance",
      "streams",
      "--concurrency",
      String(MANY_STREAMS),
    ],
    env: {
      PATH: process.env.PATH ?? "",
      SERVICE_API_URL: url,
      SERVICE_API_KEY: authorization.replace("Bearer ", ""),
      SERVICE_RUNTIME_URL: runtime.url,
    },
    isReady: async () => {
      const listed = await fetch(`${url}/v1/models`, { headers: { authorization } });
      return (await listed.text()).includes(MODEL);
    },
  });

const say = ({ bench }: Stage, what: string, unit: string, signalbox: number, note: string): void =>
  bench.say(figure({ part: "front-door", what, unit, signalbox, note }));

/** The runtime asked directly and through the front door, alternating, once both have answered a few hundred times. */
async function sayFirstToken(stage: Stage): Promise<void> {
  const { bench, runtime, tenant, url } = stage;
  const direct: number[] = [];
  const through: number[] = [];
  const first = async (address: string): Promise<number> =>
    (await openStream(address, tenant.authorization, { words: 1, everyMs: 1 }).heard).firstMs;
  for (let round = 0; round < WARM_ROUNDS; round += 1)
    for (const address of [runtime.url, url])
      await Promise.all(Array.from({ length: WARM_STREAMS }, () => first(address)));
  for (let sample = 0; sample < SAMPLES[bench.scale]; sample += 1) {
    direct.push(await first(runtime.url));
    through.push(await first(url));
  }
  const note = `${median(through).toFixed(1)} ms, and ${median(direct).toFixed(1)} ms from the runtime itself`;
  say(stage, "first token added, p50", "ms", median(through) - median(direct), note);
}

async function sayChunks(stage: Stage, count: number, seconds: number): Promise<void> {
  const { bench, worker } = stage;
  const used = () => new Map([...bench.signalbox.cpuByProcess(), ["worker", worker.cpuMicroseconds() ?? 0]]);
  const residentBefore = bench.signalbox.residentBytes() ?? 0;
  const streams = openStreams(stage, count, seconds * TOKENS_A_SECOND);
  await Promise.all(streams.map(({ begun }) => begun));
  const memory = (bench.signalbox.residentBytes() ?? 0) - residentBefore;
  const { cost, coordinator, byProcess, whole } = await chunkCost(streams, used);
  const about = `${count} streams at ${TOKENS_A_SECOND} tokens/s`;
  say(stage, `${about}: CPU a chunk`, "µs", cost, byProcess);
  say(stage, `${about}: CPU a chunk, without the worker`, "µs", coordinator, "");
  say(stage, `${about}: streams a core could carry`, "", 1_000_000 / TOKENS_A_SECOND / cost, "by their CPU time");
  say(stage, `${about}: memory a stream, workerd`, "KiB", memory / count / KIB, "with all of them open");
  say(stage, `${about}: whole`, "", whole, `of ${count}`);
}

const openStreams = ({ tenant, url }: Stage, count: number, words: number) =>
  Array.from({ length: count }, () => openStream(url, tenant.authorization, { words, everyMs: EVERY_MS }));

async function sayLeaving(stage: Stage): Promise<void> {
  const { bench, runtime } = stage;
  const waits: number[] = [];
  for (let sample = 0; sample < SAMPLES[bench.scale] / 2; sample += 1) {
    const [stream] = openStreams(stage, 1, FOREVER);
    await stream?.begun;
    const hungUp = runtime.hungUp();
    const leftAt = performance.now();
    stream?.leave();
    await hungUp;
    waits.push(performance.now() - leftAt);
  }
  say(
    stage,
    "client leaves → runtime stopped, p50",
    "ms",
    median(waits),
    `at most ${Math.max(...waits).toFixed(0)} ms`,
  );
}

/** The effect of open streams on other jobs. */
async function sayDispatch(stage: Stage): Promise<void> {
  const { bench, tenant } = stage;
  const rate = async (): Promise<number> => {
    const place = await openSignalbox(tenant.port, tenant);
    return (await socketJobs([place], DISPATCH_CLIENTS, bench.pace, "dispatch")).jobsPerSecond;
  };
  const [alone = 0, together = 0] = await interleaved(bench.pace.rounds, [
    rate,
    async () => {
      const streams = openStreams(stage, STREAMS, FOREVER);
      await Promise.all(streams.map(({ begun }) => begun));
      const found = await rate();
      for (const stream of streams) stream.leave();
      await Promise.all(streams.map((stream) => stream.heard));
      return found;
    },
  ]);
  const found = figure({
    part: "front-door",
    what: `dispatch with ${STREAMS} streams open`,
    clients: DISPATCH_CLIENTS,
    unit: "jobs/s",
    signalbox: together,
  });
  const ratio = alone === 0 ? null : together / alone;
  bench.say({ ...found, ratio, note: `ratio to no streams (${Math.round(alone)})` });
}
