// Whole jobs per second in one or more workplaces, in the three ways a job can go.

import { setTimeout as pause } from "node:timers/promises";
import type { Connection } from "./connection.ts";
import { type Pace, throughput } from "./load.ts";
import { SocketWorkers } from "./socket-workers.ts";
import { BATCH_JOBS, type HttpWorkplace, type Workplace } from "./workplace.ts";

const SOCKETS = 8;
/** Clients pause while this many of their jobs are unfinished: less than the workers may hold together. */
const MAX_UNFINISHED = 4_000;
const HOLD_BACK_MS = 1;

export interface Rate {
  jobsPerSecond: number;
  /** Jobs done in total, including the warm-up. */
  jobs: number;
  /** How far background work was behind when the load ended, in ms. */
  behindMs: number;
}

const at = <Place extends HttpWorkplace>(places: readonly Place[], client: number): Place => {
  const place = places[client % places.length];
  if (place === undefined) throw new Error("there is no workplace");
  return place;
};

const target = (places: readonly HttpWorkplace[]) => ({
  port: at(places, 0).port,
  authorizationOf: (client: number) => at(places, client).authorization,
});

const behindMs = async (places: readonly HttpWorkplace[]): Promise<number> =>
  Math.max(...(await Promise.all(places.map((place) => place.settle()))));

/** Create, claim, complete: three HTTP calls per job. */
export const httpJobs = async (places: readonly HttpWorkplace[], clients: number, pace: Pace): Promise<Rate> => {
  await Promise.all(places.map((place) => place.enrol(clients)));
  let jobs = 0;
  const step = async (connection: Connection, client: number) => {
    await at(places, client).threeCalls(connection, client);
    jobs += 1;
  };
  const jobsPerSecond = await throughput({ ...target(places), clients, step }, pace);
  return { jobsPerSecond, jobs, behindMs: await behindMs(places) };
};

const WARMING_CLIENTS = 32;

/** Three HTTP calls per job for so long, for a server that is then measured. */
export const warm = async (open: () => Promise<HttpWorkplace>, ms: number): Promise<void> => {
  if (ms > 0) await httpJobs([await open()], WARMING_CLIENTS, { warmUpMs: 0, measureMs: ms, rounds: 1 });
};

/** Created over HTTP, one or many per call, for workers on WebSockets; counted when their completion is stored. */
export const socketJobs = async (
  places: readonly Workplace[],
  clients: number,
  pace: Pace,
  way: "dispatch" | "batch",
): Promise<Rate> => {
  const instances = Array.from({ length: Math.max(1, Math.floor(SOCKETS / places.length)) }, (_, n) => `socket-${n}`);
  const fleets = await Promise.all(places.map((place) => SocketWorkers.connect(place.wire, instances)));
  const given = places.map(() => 0);
  const jobsACall = way === "batch" ? BATCH_JOBS : 1;
  const step = async (connection: Connection, client: number) => {
    const place = client % places.length;
    const fleet = fleets[place];
    if (fleet === undefined) return;
    const unfinished = (given[place] ?? 0) - fleet.stored;
    if (unfinished > 0 && unfinished + jobsACall > MAX_UNFINISHED / places.length) return pause(HOLD_BACK_MS);
    given[place] = (given[place] ?? 0) + jobsACall;
    await at(places, client)[way](connection);
  };
  const done = () => fleets.reduce((sum, fleet) => sum + fleet.stored, 0);
  const jobsPerSecond = await throughput({ ...target(places), clients, step, done }, pace);
  await Promise.all(fleets.map((fleet, place) => fleet.settleTo(given[place] ?? 0, 0)));
  const behind = await behindMs(places);
  for (const fleet of fleets) fleet.close();
  return { jobsPerSecond, jobs: done(), behindMs: behind };
};
