// How many signs of life per second one tenant takes: presence reports over HTTP and WebSockets, heartbeats of running
// jobs, pings answered by the platform; and how much of that reaches the disk.

import path from "node:path";
import { BeatingSockets } from "../beating-sockets.ts";
import type { Connection } from "../connection.ts";
import { type Figure, figure } from "../figures.ts";
import { type Pace, throughput } from "../load.ts";
import { ensureDescriptors } from "../measure/descriptors.ts";
import type { Served } from "../measure/processes.ts";
import type { Bench } from "../plan.ts";
import { callEach, createTenant, startSignalbox, type Tenant } from "../signalbox.ts";
import { BATCH_JOBS, PROMPT } from "../workplace.ts";

const WORKERS = 1_000;
const CLIENTS = 32;

type Beat = (connection: Connection, worker: number) => Promise<unknown>;

export const heartbeats = async ({ folder, pace, say }: Bench): Promise<void> => {
  ensureDescriptors(WORKERS);
  const served = await startSignalbox(path.join(folder, "heartbeats"));
  try {
    const overHttp = await createTenant(served.port);
    await callEach(overHttp, WORKERS, presence);
    say(await measure(served, overHttp, pace, "POST /presence", presence));
    const jobs = await startJobs(overHttp);
    const jobBeat: Beat = (connection, worker) => {
      const { id, lease } = jobs[worker] ?? jobs[0] ?? { id: "", lease: 0 };
      return connection.call("POST", `/api/jobs/${id}/heartbeat`, { lease });
    };
    say(await measure(served, overHttp, pace, "POST /api/jobs/<id>/heartbeat", jobBeat));
    const overSockets = await createTenant(served.port);
    const sockets = await BeatingSockets.connect(overSockets, WORKERS);
    try {
      const frame: Beat = (_connection, worker) => sockets.presence(worker);
      say(await measure(served, overSockets, pace, "presence frames on WebSockets", frame));
      const ping: Beat = (_connection, worker) => sockets.ping(worker);
      say(await measure(served, overSockets, pace, "ping, answered by the platform", ping));
    } finally {
      sockets.close();
    }
  } finally {
    await served.stop();
  }
};

const instanceOf = (worker: number): string => `alive-${worker}`;

const presence: Beat = (connection, worker) =>
  connection.call("POST", "/presence", { instance: instanceOf(worker), provider: "bench", tags: "alive" });

interface Lease {
  id: string;
  lease: number;
}

/** One running job on each worker. */
const startJobs = async (tenant: Tenant): Promise<Lease[]> => {
  const leases: Lease[] = [];
  await callEach(tenant, Math.ceil(WORKERS / BATCH_JOBS), (connection) => {
    const jobs = Array.from({ length: Math.min(BATCH_JOBS, WORKERS) }, () => ({ prompt: PROMPT, tags: ["alive"] }));
    return connection.call("POST", "/api/jobs/batch", { jobs });
  });
  await callEach(tenant, WORKERS, async (connection, worker) => {
    const path = `/api/workers/${instanceOf(worker)}/claim`;
    const { jobs } = (await connection.call("POST", path, {})) as { jobs: Lease[] };
    for (const { id, lease } of jobs) {
      await connection.call("POST", `/api/jobs/${id}/start`, { lease });
      leases[worker] = { id, lease };
    }
  });
  if (Object.keys(leases).length < WORKERS) throw new Error("not every worker got a job");
  return leases;
};

/** Each client sends for its own workers, one after the other. */
const measure = async (
  { cpuMicroseconds, writtenBytes }: Served,
  { port, authorization }: Tenant,
  pace: Pace,
  what: string,
  beat: Beat,
): Promise<Figure> => {
  const turns = Array.from({ length: CLIENTS }, () => 0);
  let beats = 0;
  const step = async (connection: Connection, client: number): Promise<void> => {
    const turn = turns[client] ?? 0;
    turns[client] = turn + 1;
    await beat(connection, (client + turn * CLIENTS) % (WORKERS - (WORKERS % CLIENTS)));
    beats += 1;
  };
  const before = { cpu: cpuMicroseconds(), written: writtenBytes() };
  const load = { clients: CLIENTS, port, authorizationOf: () => authorization, step };
  const rate = await throughput(load, { ...pace, measureMs: pace.measureMs * pace.rounds });
  const each = (was: number | null, is: number | null) =>
    was === null || is === null ? "?" : String(Math.round((is - was) / beats));
  const note = `CPU ${each(before.cpu, cpuMicroseconds())} µs, ${each(before.written, writtenBytes())} B written each`;
  return figure({ part: "heartbeats", what, clients: CLIENTS, unit: "1/s", signalbox: rate, note });
};
