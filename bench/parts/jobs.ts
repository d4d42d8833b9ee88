// Whole jobs per second, the floor and Signalbox alternating: over HTTP alone, dispatched to workers on WebSockets,
// created in batches for them, and spread over tenants.

import { type Figure, figure } from "../figures.ts";
import { openFloor } from "../floor/workplace.ts";
import { httpJobs, type Rate, socketJobs } from "../jobs.ts";
import { interleaved } from "../load.ts";
import type { Running } from "../measure/processes.ts";
import type { Bench } from "../plan.ts";
import { openSignalbox } from "../signalbox.ts";
import type { Open, Workplace } from "../workplace.ts";

export const THREE_CALLS = "create, claim, complete by HTTP";
export const DISPATCH = "dispatch by HTTP, workers on WebSockets";
export const BATCH = "batches of 500, workers on WebSockets";
const TENANTS = 16;

type Measure = (places: readonly Workplace[], clients: number, bench: Bench) => Promise<Rate>;

const byHttp: Measure = (places, clients, { pace }) => httpJobs(places, clients, pace);
const bySocket: Measure = (places, clients, { pace }) => socketJobs(places, clients, pace, "dispatch");
const inBatches: Measure = (places, clients, { pace }) => socketJobs(places, clients, pace, "batch");

const compare = async (bench: Bench, clients: number, tenants: number, measure: Measure): Promise<Partial<Figure>> => {
  const floor = tally(bench.floor);
  const signalbox = tally(bench.signalbox);
  const rate = async ({ add }: Tally, open: Open) => {
    const places = await Promise.all(Array.from({ length: tenants }, () => open()));
    return add(() => measure(places, clients, bench));
  };
  const [floorRate = 0, signalboxRate = 0] = await interleaved(bench.pace.rounds, [
    () => rate(floor, () => openFloor(bench.floor.port)),
    () => rate(signalbox, () => openSignalbox(bench.signalbox.port)),
  ]);
  const cpu = `CPU ${signalbox.cpuPerJob()} to ${floor.cpuPerJob()} µs/job (${signalbox.byProcess()})`;
  const note = `${cpu}, history ${Math.round(signalbox.behindMs())} ms behind`;
  return { clients, floor: floorRate, signalbox: signalboxRate, note };
};

export interface Tally {
  add: (measure: () => Promise<Rate>) => Promise<number>;
  /** Of the server's CPU time, including setup and background work. */
  cpuPerJob: () => number;
  /** The same by process. */
  byProcess: () => string;
  behindMs: () => number;
}

/** CPU time shows the cost of a job even if the machine is busy with something else. */
export const tally = (server: Pick<Running, "cpuMicroseconds"> & Partial<Pick<Running, "cpuByProcess">>): Tally => {
  const shares = new Map<string, number>();
  const perJob = (cpu: number): number => Math.round(cpu / Math.max(1, jobs));
  let jobs = 0;
  let cpu = 0;
  let behind = 0;
  return {
    add: async (measure) => {
      const before = server.cpuMicroseconds() ?? 0;
      const sharesBefore = server.cpuByProcess?.();
      const rate = await measure();
      cpu += (server.cpuMicroseconds() ?? 0) - before;
      for (const [name, used] of server.cpuByProcess?.() ?? []) {
        shares.set(name, (shares.get(name) ?? 0) + used - (sharesBefore?.get(name) ?? 0));
      }
      jobs += rate.jobs;
      behind = Math.max(behind, rate.behindMs);
      return rate.jobsPerSecond;
    },
    cpuPerJob: () => perJob(cpu),
    byProcess: () => [...shares].map(([name, used]) => `${name} ${perJob(used)}`).join(", "),
    behindMs: () => behind,
  };
};

const part = (name: string, what: string, measure: Measure, tenants = 1) => {
  return async (bench: Bench): Promise<void> => {
    for (const clients of bench.clients.filter((count) => count >= tenants)) {
      const compared = await compare(bench, clients, tenants, measure);
      bench.say(figure({ part: name, what, unit: "jobs/s", ...compared }));
    }
  };
};

export const http = part("http", THREE_CALLS, byHttp);
export const dispatch = part("dispatch", DISPATCH, bySocket);
export const batch = part("batch", BATCH, inBatches);

export const tenants = async (bench: Bench): Promise<void> => {
  await part("tenants", `${TENANTS} tenants: ${THREE_CALLS}`, byHttp, TENANTS)(bench);
  await part("tenants", `${TENANTS} tenants: ${DISPATCH}`, bySocket, TENANTS)(bench);
};
