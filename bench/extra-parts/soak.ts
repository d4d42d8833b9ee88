// Half of the maximum load over HTTP, or as much as is said, for many minutes: whether latency, memory and the object's
// database stay the same. Little load shows what is freed only when much has come. Only when asked for by name.

import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Connection } from "../connection.ts";
import { figure } from "../figures.ts";
import { type Inspected, startInspected } from "../inspected.ts";
import { httpJobs } from "../jobs.ts";
import { median, percentile } from "../load.ts";
import { databaseFilesBelow } from "../measure/stored-bytes.ts";
import { paced } from "../pacing.ts";
import type { Bench } from "../plan.ts";
import { createTenant, openSignalbox, type Tenant } from "../signalbox.ts";
import { PROMPT, RESULT } from "../workplace.ts";

const CLIENTS = 32;
const LOAD_SHARE = 0.5;
const SATURATION_PACE = { warmUpMs: 2_000, measureMs: 8_000, rounds: 1 };
/** A short run has shorter spans, so that it can be divided into thirds. */
const SPAN_MS = 60_000;
const LEAST_SPANS = 6;
const LOOK_EVERY_MS = 1_000;
const MIB = 1024 * 1024;

export const soak = async ({ folder, soak: { minutes, jobsPerSecond: asked }, say }: Bench): Promise<void> => {
  const dataDir = path.join(folder, "soak");
  const served = await startInspected(dataDir);
  try {
    const rate = asked ?? (await saturationOf(served)) * LOAD_SHARE;
    const tenant = await createTenant(served.port);
    await callAllClients(tenant, (connection, client) =>
      connection.call("POST", "/presence", { instance: nameOf(client), provider: "http", tags: nameOf(client) }),
    );
    const load = startLoad(tenant, rate);
    const onSpan = (which: string, span: Span) => saySpan(say, which, span);
    const watched = watch({ served, dataDir, load, totalMs: minutes * 60_000, onSpan });
    const spans = await watched.finally(() => load.stop());
    sayTrend(say, spans, `${Math.round(rate)} jobs/s${asked === null ? ", half of saturation" : ""}`);
  } finally {
    await served.stop();
  }
};

const saturationOf = async ({ port }: Inspected): Promise<number> =>
  (await httpJobs([await openSignalbox(port)], CLIENTS, SATURATION_PACE)).jobsPerSecond;

/** One span of the run; memory at its smallest, the heap at its end. */
interface Span {
  p50Ms: number;
  p99Ms: number;
  jobsPerSecond: number;
  /** Written to disk, by the object and by D1. */
  writtenKibPerJob: number;
  residentMib: number;
  heapMib: number;
  objectMib: number;
}

const UNITS: Readonly<Record<keyof Span, readonly [what: string, unit: string]>> = {
  p50Ms: ["create, p50", "ms"],
  p99Ms: ["create, p99", "ms"],
  jobsPerSecond: ["jobs done", "jobs/s"],
  writtenKibPerJob: ["written a job", "KiB"],
  residentMib: ["memory of all processes", "MiB"],
  heapMib: ["JavaScript heap", "MiB"],
  objectMib: ["databases of the objects", "MiB"],
};

const saySpan = (say: Bench["say"], which: string, span: Span): void => {
  const rest = (Object.keys(UNITS) as (keyof Span)[]).filter((key) => key !== "p99Ms");
  const note = rest.map((key) => `${UNITS[key][0]} ${Number(span[key].toPrecision(3))} ${UNITS[key][1]}`).join(", ");
  const [what, unit] = UNITS.p99Ms;
  say(figure({ part: "soak", what: `${which}: ${what}`, clients: CLIENTS, unit, signalbox: span.p99Ms, note }));
};

const sayTrend = (say: Bench["say"], spans: readonly Span[], note: string): void => {
  const third = Math.max(1, Math.floor(spans.length / 3));
  for (const [key, [what, unit]] of Object.entries(UNITS)) {
    const values = spans.map((span) => span[key as keyof Span]);
    const [first, last] = [median(values.slice(0, third)), median(values.slice(-third))];
    const found = figure({
      part: "soak",
      what: `last third to first: ${what}`,
      clients: CLIENTS,
      unit,
      signalbox: last,
    });
    say({ ...found, ratio: first === 0 ? null : last / first, note });
  }
};

interface Load {
  /** Of creates since the last call, each from when it was due, in ms. */
  takeLatencies: () => number[];
  stop: () => Promise<void>;
}

const nameOf = (client: number): string => `soaking-${client}`;

const callAllClients = async (
  { port, authorization }: Tenant,
  call: (connection: Connection, client: number) => Promise<unknown>,
): Promise<void> => {
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    const connection = await Connection.open(port, authorization);
    await call(connection, client);
    connection.close();
  });
  await Promise.all(clients);
};

/** Each client creates a job when one is due, claims it and completes it. */
const startLoad = (tenant: Tenant, perSecond: number): Load => {
  let latencies: number[] = [];
  let isOver = false;
  const turn = paced(perSecond);
  const running = callAllClients(tenant, async (connection, client) => {
    while (!isOver) {
      const dueAt = await turn();
      await connection.call("POST", "/api/jobs", { prompt: PROMPT, tags: [nameOf(client)] });
      latencies.push(performance.now() - dueAt);
      const claimed = await connection.call("POST", `/api/workers/${nameOf(client)}/claim`, {});
      for (const { id, lease } of (claimed as { jobs: { id: string; lease: number }[] }).jobs) {
        await connection.call("POST", `/api/jobs/${id}/complete`, { lease, result: RESULT });
      }
    }
  });
  let failure: unknown = null;
  running.catch((error: unknown) => {
    failure = error;
  });
  return {
    takeLatencies: () => {
      if (failure !== null) throw failure;
      const taken = latencies;
      latencies = [];
      return taken;
    },
    stop: async () => {
      isOver = true;
      await running.catch(() => {});
    },
  };
};

interface Watch {
  served: Inspected;
  dataDir: string;
  load: Load;
  totalMs: number;
  onSpan: (which: string, span: Span) => void;
}

const watch = async ({ served, dataDir, load, totalMs, onSpan }: Watch): Promise<Span[]> => {
  const count = Math.max(LEAST_SPANS, Math.round(totalMs / SPAN_MS));
  const spanMs = totalMs / count;
  const spans: Span[] = [];
  const startedAt = performance.now();
  while (spans.length < count) {
    const endsAt = startedAt + (spans.length + 1) * spanMs;
    const writtenBefore = served.writtenBytes() ?? 0;
    let residentBytes = Number.POSITIVE_INFINITY;
    do {
      await pause(Math.min(LOOK_EVERY_MS, endsAt - performance.now()));
      residentBytes = Math.min(residentBytes, served.residentBytes() ?? 0);
    } while (performance.now() < endsAt);
    const latencies = load.takeLatencies();
    spans.push({
      p50Ms: percentile(latencies, 0.5),
      p99Ms: percentile(latencies, 0.99),
      jobsPerSecond: (latencies.length * 1000) / spanMs,
      writtenKibPerJob: ((served.writtenBytes() ?? 0) - writtenBefore) / 1024 / Math.max(1, latencies.length),
      residentMib: residentBytes / MIB,
      heapMib: (await served.inspector.heapBytes()) / MIB,
      objectMib: databaseFilesBelow(path.join(dataDir, "state", "objects")) / MIB,
    });
    const last = spans.at(-1);
    if (last !== undefined) onSpan(`${spans.length} of ${count}`, last);
  }
  return spans;
};
