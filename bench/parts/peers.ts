// The alternatives: BullMQ on Redis and pg-boss on PostgreSQL, one durable job created, claimed and completed over
// HTTP, alternating with the floor and with Signalbox's two ways. A peer that is not available is reported in one line.
// Goals are shown, never asserted, because machines differ.

import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { figure } from "../figures.ts";
import { openFloor } from "../floor/workplace.ts";
import { httpJobs, type Rate, socketJobs, warm } from "../jobs.ts";
import { interleaved } from "../load.ts";
import type { LibraryRun } from "../peers/library-loop.ts";
import { type Peer, type Program, startPeers } from "../peers/start.ts";
import { openPeer } from "../peers/workplace.ts";
import type { Bench } from "../plan.ts";
import { createTenant, openSignalbox } from "../signalbox.ts";
import { BATCH_JOBS } from "../workplace.ts";
import { BATCH, tally } from "./jobs.ts";

/** Signalbox's goal, as a ratio to a peer's three calls with this many clients. */
const GOAL_CLIENTS = 32;
const CALLS_GOAL = { peer: "pg-boss", ratio: 1.3 };
const BATCH_GOAL = { peer: "BullMQ", ratio: 1 };

export const peers = async (bench: Bench): Promise<void> => {
  const { running, missing, stop } = await startPeers(`${bench.folder}/peers`);
  try {
    for (const { name, why } of missing) {
      bench.say(figure({ part: "peers", what: `${name}: not measured`, unit: "", note: why }));
    }
    if (running.length === 0) return;
    for (const { port } of running) await warm(() => openPeer(port), bench.warmMs);
    for (const clients of bench.clients) await compare(bench, running, clients);
    for (const { name, library } of running) if (library !== null) await compareLibraries(bench, name, library);
  } finally {
    await stop();
  }
};

const LIBRARY_RUNS = [
  { what: "one job a call, by the libraries", clients: 32, jobsACall: 1, goal: 1 },
  { what: "one job a call, by the libraries", clients: 512, jobsACall: 1, goal: 1 },
  { what: `${BATCH_JOBS} jobs a call, by the libraries`, clients: 4, jobsACall: BATCH_JOBS, goal: 1.5 },
];
/** Of its own library: how its worker is made, and what the row says of it. */
const OWN_WORKERS: Readonly<Record<string, string>> = { frames: "", serve: ", a worker of `serve`" };
const OWN_LIBRARY = path.join(import.meta.dirname, "../library/signalbox.ts");
/** A program of its own begins cold. */
const WARM_UP_MS = 3_000;
const SHORTEST_MS = 2_000;

/** Clients and workers in one process each, as users run them. */
const compareLibraries = async ({ pace, signalbox, say }: Bench, name: string, theirs: Program): Promise<void> => {
  for (const { what, clients, jobsACall, goal } of LIBRARY_RUNS) {
    const measureMs = Math.max(SHORTEST_MS, pace.measureMs);
    const run: LibraryRun = { clients, jobsACall, warmUpMs: WARM_UP_MS, measureMs };
    const ours = Object.keys(OWN_WORKERS).map((kind) => async (): Promise<number> => {
      const tenant = await createTenant(signalbox.port);
      return libraryRate({ file: OWN_LIBRARY, args: [kind, JSON.stringify(tenant)] }, run);
    });
    const [peer = 0, ...rates] = await interleaved(pace.rounds, [() => libraryRate(theirs, run), ...ours]);
    for (const [at, worker] of Object.values(OWN_WORKERS).entries()) {
      const rate = rates[at] ?? 0;
      const note = `GOAL ≥ ${goal} ${rate / peer >= goal ? "REACHED" : "MISSED"}`;
      const row = { part: "peers", what: `${what}${worker}, against ${name}`, clients, unit: "jobs/s" };
      say(figure({ ...row, peer, signalbox: rate, note }));
    }
  }
};

const libraryRate = async ({ file, args, cwd }: Program, run: LibraryRun): Promise<number> => {
  const command = [file, ...args, JSON.stringify(run)];
  const { stdout } = await promisify(execFile)(process.execPath, command, cwd === undefined ? {} : { cwd });
  return (JSON.parse(stdout) as { jobsPerSecond: number }).jobsPerSecond;
};

/** A target's rate over all rounds, and its CPU time per job. */
interface Contender {
  measure: () => Promise<number>;
  cpuPerJob: () => number;
}

const contender = (server: Parameters<typeof tally>[0], measure: () => Promise<Rate>): Contender => {
  const { add, cpuPerJob } = tally(server);
  return { measure: () => add(measure), cpuPerJob };
};

const compare = async (bench: Bench, running: readonly Peer[], clients: number): Promise<void> => {
  const { floor, signalbox, pace } = bench;
  const ours = {
    floor: contender(floor, async () => httpJobs([await openFloor(floor.port)], clients, pace)),
    calls: contender(signalbox, async () => httpJobs([await openSignalbox(signalbox.port)], clients, pace)),
    batches: contender(signalbox, async () =>
      socketJobs([await openSignalbox(signalbox.port)], clients, pace, "batch"),
    ),
  };
  const theirs = running.map((peer) =>
    contender(peer, async () => httpJobs([await openPeer(peer.port)], clients, pace)),
  );
  const all = [ours.floor, ours.calls, ours.batches, ...theirs];
  const [floorRate = 0, calls = 0, batches = 0, ...rates] = await interleaved(
    pace.rounds,
    all.map(({ measure }) => measure),
  );
  for (const [index, { name }] of running.entries()) {
    const row = { part: "peers", clients, unit: "jobs/s", peer: rates[index] ?? 0 };
    const cpuOfPeer = theirs[index]?.cpuPerJob() ?? 0;
    const note = (goal: typeof CALLS_GOAL, rate: number, cpu: number) =>
      `${goal.peer === name ? goalNote(goal.ratio, clients, rate / row.peer) : ""}CPU ${cpu} to ${cpuOfPeer} µs/job`;
    const callsNote = note(CALLS_GOAL, calls, ours.calls.cpuPerJob());
    const what = `three calls against ${name}`;
    bench.say(figure({ ...row, what, floor: floorRate, signalbox: calls, note: callsNote }));
    if (name !== BATCH_GOAL.peer) continue;
    const batchNote = note(BATCH_GOAL, batches, ours.batches.cpuPerJob());
    bench.say(figure({ ...row, what: `${BATCH}, against ${name} three calls`, signalbox: batches, note: batchNote }));
  }
};

const goalNote = (goal: number, clients: number, ratio: number): string =>
  clients === GOAL_CLIENTS ? `GOAL ≥ ${goal} ${ratio >= goal ? "REACHED" : "MISSED"}, ` : "";
