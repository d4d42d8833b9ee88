// Streams of a hosted provider that the coordinator calls itself, without a worker: what a chunk costs in all our
// processes, and how soon the killswitch has closed every connection to the provider.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Connection } from "../connection.ts";
import { figure } from "../figures.ts";
import { median } from "../load.ts";
import type { Bench } from "../plan.ts";
import { createTenant, startSignalbox, type Tenant } from "../signalbox.ts";
import { MODEL, type Said, type StreamingRuntime, startStreamingRuntime } from "../streams/streaming-runtime.ts";
import { chunkCost, type OpenStream, openStream } from "../streams/streams.ts";

const STREAMS = 200;
const TOKENS_A_SECOND = 30;
const EVERY_MS = 1000 / TOKENS_A_SECOND;
const SECONDS = { quick: 3, usual: 5, full: 10 } as const;
const HALTS = { quick: 3, usual: 5, full: 9 } as const;
const FOREVER = 1_000_000;
/** Streams that are halted say little, so that only the halt is measured. */
const SLOW_MS = 1_000;
const LOOK_MS = 1;
const GIVE_UP_MS = 60_000;

interface Stage {
  readonly bench: Bench;
  readonly tenant: Tenant;
  readonly runtime: StreamingRuntime;
  readonly operator: Connection;
}

export const hosted = async (bench: Bench): Promise<void> => {
  const runtime = await startStreamingRuntime();
  const served = await startSignalbox(path.join(bench.folder, "hosted"), undefined, [], {
    SERVICE_CATALOG_DIR: catalogWith(bench.folder, runtime),
    SERVICE_EDGE_TENANTS: "*",
    PROVIDER_BENCH_KEY: "a-key-of-the-bench",
  });
  try {
    const tenant = await createTenant(served.port);
    const operator = await Connection.open(served.port, tenant.authorization);
    const stage = { bench, tenant, runtime, operator };
    await enable(stage);
    const streams = openStreams(stage, STREAMS, { words: SECONDS[bench.scale] * TOKENS_A_SECOND, everyMs: EVERY_MS });
    await begun(streams);
    const { cost, byProcess, whole } = await chunkCost(streams, () => served.cpuByProcess());
    const about = `${STREAMS} streams at ${TOKENS_A_SECOND} tokens/s`;
    say(bench, `${about}: CPU a chunk`, "µs", cost, byProcess);
    say(bench, `${about}: whole`, "", whole, `of ${STREAMS}`);
    for (const count of [1, STREAMS]) await sayHalts(stage, count);
    operator.close();
  } finally {
    await served.stop();
    runtime.stop();
  }
};

const say = (bench: Bench, what: string, unit: string, signalbox: number, note: string): void =>
  bench.say(figure({ part: "hosted", what, unit, signalbox, note }));

const catalogWith = (folder: string, { url }: StreamingRuntime): string => {
  const catalog = path.join(folder, "catalog");
  mkdirSync(catalog, { recursive: true });
  const lines = [
    "provider: bench",
    "local: true",
    `list_url: ${url}/v1/models`,
    "method: GET",
    'auth: { header: bearer, ref: "provider:bench" }',
    `api: { base_url: "${url}/v1", dialect: openai }`,
    'response_path: "data[]"',
    "fields: { id: id }",
  ];
  writeFileSync(path.join(catalog, "bench.yaml"), lines.join("\n"));
  return catalog;
};

const enable = async ({ operator }: Stage): Promise<void> => {
  const edge = { enabled: true, models: [MODEL], max_concurrent: STREAMS };
  await operator.call("PUT", "/config", { providers: { bench: { edge } } });
  await until(async () => {
    const worker = (await operator.call("GET", "/api/workers/edge-bench-0")) as { unavailable: string | null };
    return worker.unavailable === null;
  });
};

const until = async (isTrue: () => boolean | Promise<boolean>): Promise<void> => {
  const endsAt = performance.now() + GIVE_UP_MS;
  while (!(await isTrue())) {
    if (performance.now() > endsAt) throw new Error("what the bench waits for did not happen");
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
};

const openStreams = ({ tenant }: Stage, count: number, said: Said): OpenStream[] => {
  const url = `http://127.0.0.1:${tenant.port}`;
  return Array.from({ length: count }, () => openStream(url, tenant.authorization, said));
};

const begun = (streams: readonly OpenStream[]) => Promise.all(streams.map((stream) => stream.begun));

/** From the request until the provider has lost the last of its connections. */
const sayHalts = async (stage: Stage, count: number): Promise<void> => {
  const { bench, runtime, operator } = stage;
  const waits: number[] = [];
  for (let halt = 0; halt < HALTS[bench.scale]; halt += 1) {
    const streams = openStreams(stage, count, { words: FOREVER, everyMs: SLOW_MS });
    await begun(streams);
    const haltedAt = performance.now();
    await operator.call("POST", "/killswitch", { level: 4, reason: "bench" });
    await until(() => runtime.openCount() === 0);
    waits.push(performance.now() - haltedAt);
    await Promise.all(streams.map((stream) => stream.heard));
    await operator.call("DELETE", "/killswitch?resume_all=true");
  }
  const note = `at most ${Math.max(...waits).toFixed(0)} ms in ${waits.length} halts`;
  say(bench, `killswitch → the last of ${count} connections closed, p50`, "ms", median(waits), note);
};
