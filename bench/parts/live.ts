// Fifty viewers watch /live while jobs run: how late each sees a job's end, what watching costs the jobs, and whether
// every viewer gets the last state of every job.

import { figure } from "../figures.ts";
import { socketJobs } from "../jobs.ts";
import { interleaved, type Pace, throughput } from "../load.ts";
import { paced } from "../pacing.ts";
import type { Bench } from "../plan.ts";
import { createTenant, openSignalbox, type Tenant } from "../signalbox.ts";
import { SocketWorkers } from "../socket-workers.ts";
import { type Ended, type Seen, sharedNow, Viewers } from "../viewers/viewers.ts";
import type { Workplace } from "../workplace.ts";
import { BATCH, DISPATCH } from "./jobs.ts";

const VIEWERS = 50;
const JOBS_A_SECOND = 1_000;
const CLIENTS = 32;
const WORKERS = 8;
const MIB = 1024 * 1024;

export const live = async ({ signalbox: { port }, pace, say }: Bench): Promise<void> => {
  const steady = await createTenant(port);
  const longer = { ...pace, measureMs: pace.measureMs * pace.rounds };
  const { rate, seen, seconds } = await watched(steady, (place) => steadyJobs(place, longer));
  const note = `while ${Math.round(rate)} jobs/s flow`;
  const about = `${VIEWERS} viewers, ${JOBS_A_SECOND} jobs/s`;
  const say1 = (what: string, unit: string, signalbox: number) =>
    say(figure({ part: "live", what: `${about}: ${what}`, unit, signalbox, note }));
  say1("job ended → viewer sees it, p50", "ms", seen.p50Ms);
  say1("job ended → viewer sees it, p99", "ms", seen.p99Ms);
  say1("frames, the viewer with fewest", "1/s", seen.fewestFrames / seconds);
  say1("frames, the viewer with most", "1/s", seen.mostFrames / seconds);
  say1("sent to all viewers", "MiB/s", seen.bytes / MIB / seconds);
  say1("further snapshots, all viewers together", "1/s", seen.laterSnapshots / seconds);
  for (const way of ["dispatch", "batch"] as const) await sayThroughput(await createTenant(port), way, pace, say);
};

/** Batches bring more than frames can carry: viewers that are too far behind get a snapshot. */
const WAYS = { dispatch: DISPATCH, batch: BATCH };

/** At full speed, with and without viewers, alternating. */
const sayThroughput = async (tenant: Tenant, way: keyof typeof WAYS, pace: Pace, say: Bench["say"]): Promise<void> => {
  let snapshots = 0;
  const jobs = async (place: Workplace) => (await socketJobs([place], CLIENTS, pace, way)).jobsPerSecond;
  const [alone = 0, together = 0] = await interleaved(pace.rounds, [
    async () => jobs(await openSignalbox(tenant.port, tenant)),
    async () => {
      const { rate, seen } = await watched(tenant, jobs);
      snapshots += seen.laterSnapshots;
      return rate;
    },
  ]);
  const what = `${VIEWERS} viewers: ${WAYS[way]}`;
  const found = figure({ part: "live", what, clients: CLIENTS, unit: "jobs/s", signalbox: together });
  const note = `ratio to no viewers (${Math.round(alone)}), ${snapshots / VIEWERS} further snapshots a viewer`;
  say({ ...found, ratio: alone === 0 ? null : together / alone, note });
};

interface Watched {
  rate: number;
  seen: Seen;
  seconds: number;
}

/** Throws if a viewer's picture is wrong after all jobs have ended. */
const watched = async (tenant: Tenant, work: (place: Workplace) => Promise<number>): Promise<Watched> => {
  const { place, ended } = noting(await openSignalbox(tenant.port, tenant));
  const viewers = await Viewers.open(tenant, VIEWERS);
  try {
    const startedAt = performance.now();
    const rate = await work(place);
    const seen = await viewers.seen(ended);
    const seconds = (performance.now() - startedAt) / 1000;
    if (seen.mistake !== null) throw new Error(`a viewer at ${Math.round(rate)} jobs/s: ${seen.mistake}`);
    return { rate, seen, seconds };
  } finally {
    await viewers.close();
  }
};

/** The workplace, and when each job's end was acknowledged. */
const noting = (place: Workplace): { place: Workplace; ended: Ended } => {
  const ended = new Map<string, number>();
  const isStored = (message: never): boolean => {
    const isEnded = place.wire.isStored(message);
    // A completion has its job's id.
    if (isEnded) ended.set((message as { id: string }).id, sharedNow());
    return isEnded;
  };
  return { place: { ...place, wire: { ...place.wire, isStored } }, ended };
};

/** Jobs at a fixed rate, done by workers on sockets; returns the achieved rate. */
export const steadyJobs = async (place: Workplace, pace: Pace, perSecond = JOBS_A_SECOND): Promise<number> => {
  const names = Array.from({ length: WORKERS }, (_, index) => `steady-${index}`);
  const workers = await SocketWorkers.connect(place.wire, names);
  const turn = paced(perSecond);
  let given = 0;
  const rate = await throughput(
    {
      clients: CLIENTS,
      port: place.port,
      authorizationOf: () => place.authorization,
      step: async (connection) => {
        await turn();
        given += 1;
        await place.create(connection);
      },
      done: () => workers.stored,
    },
    pace,
  );
  await workers.settleTo(given, 0);
  workers.close();
  return rate;
};
