// `npm run bench`: how fast Signalbox is, relative to a minimal object in the same run on the same machine. Prints a
// table and one JSON line. Times are never asserted: machines differ, ratios differ less. Usage: npm run bench [--
// --quick | --full] [--warm <seconds>] [--fsync-ms <ms>] [--only <part,…>] [--only soak --soak-minutes <minutes>
// --soak-jobs <jobs a second>] [--only hostile --heap <MiB> --attack <words of its name>] [--only dashboard --kept
// <folder>]

import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { dashboard } from "./extra-parts/dashboard.ts";
import { flood } from "./extra-parts/flood.ts";
import { growth } from "./extra-parts/growth.ts";
import { hostile } from "./extra-parts/hostile.ts";
import { processes } from "./extra-parts/processes.ts";
import { profile } from "./extra-parts/profile.ts";
import { soak } from "./extra-parts/soak.ts";
import { tab } from "./extra-parts/tab.ts";
import { figure, jsonLine, table } from "./figures.ts";
import { startFloor } from "./floor/start.ts";
import { openFloor } from "./floor/workplace.ts";
import { warm } from "./jobs.ts";
import type { Pace } from "./load.ts";
import { fsyncMicroseconds, slowDisk } from "./measure/disk.ts";
import { batches } from "./parts/batches.ts";
import { choosing } from "./parts/choosing.ts";
import { depth } from "./parts/depth.ts";
import { files } from "./parts/files.ts";
import { fleet } from "./parts/fleet.ts";
import { frontDoor } from "./parts/front-door.ts";
import { health } from "./parts/health.ts";
import { heartbeats } from "./parts/heartbeats.ts";
import { history } from "./parts/history.ts";
import { homes } from "./parts/homes.ts";
import { hosted } from "./parts/hosted.ts";
import { idle } from "./parts/idle.ts";
import { insert } from "./parts/insert.ts";
import { batch, dispatch, http, tenants } from "./parts/jobs.ts";
import { killswitch } from "./parts/killswitch.ts";
import { latency } from "./parts/latency.ts";
import { live } from "./parts/live.ts";
import { peers } from "./parts/peers.ts";
import { rows } from "./parts/rows.ts";
import { storage } from "./parts/storage.ts";
import { turns } from "./parts/turns.ts";
import { wake } from "./parts/wake.ts";
import type { Bench, Measurement, Scale, Sizes } from "./plan.ts";
import { openSignalbox, startSignalbox } from "./signalbox.ts";

const PARTS: Readonly<Record<string, Measurement>> = {
  insert,
  health,
  homes,
  http,
  dispatch,
  batch,
  history,
  tenants,
  peers,
  latency,
  depth,
  turns,
  fleet,
  choosing,
  wake,
  idle,
  heartbeats,
  killswitch,
  live,
  "front-door": frontDoor,
  hosted,
  rows,
  storage,
  files,
  batches,
};
/** Run only when asked for by name. */
const EXTRA_PARTS: Readonly<Record<string, Measurement>> = {
  dashboard,
  flood,
  growth,
  hostile,
  processes,
  profile,
  soak,
  tab,
};

const MAX_NOTE = 300;
/** How long each server does jobs before it is measured: a new one compiles its code as it serves. */
const WARM_SECONDS = "5";

const SCALES: Readonly<Record<Scale, { pace: Pace; sizes: Sizes }>> = {
  quick: {
    pace: { warmUpMs: 200, measureMs: 700, rounds: 1 },
    sizes: {
      pendingJobs: [0, 10_000],
      workers: [10, 1_000],
      wakeWorkers: 1_000,
      wakeJobs: 10_000,
      latencySamples: 200,
    },
  },
  usual: {
    pace: { warmUpMs: 300, measureMs: 1_200, rounds: 3 },
    sizes: {
      pendingJobs: [0, 10_000, 100_000],
      workers: [10, 1_000, 10_000],
      wakeWorkers: 10_000,
      wakeJobs: 100_000,
      latencySamples: 900,
    },
  },
  full: {
    pace: { warmUpMs: 1_000, measureMs: 3_000, rounds: 5 },
    sizes: {
      pendingJobs: [0, 10_000, 100_000, 1_000_000],
      workers: [10, 1_000, 10_000],
      wakeWorkers: 10_000,
      wakeJobs: 100_000,
      latencySamples: 3_000,
    },
  },
};

function readFlags() {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      full: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      warm: { type: "string", default: WARM_SECONDS },
      "fsync-ms": { type: "string", default: "0" },
      heap: { type: "string" },
      attack: { type: "string", default: "" },
      kept: { type: "string" },
      "soak-minutes": { type: "string", default: "10" },
      "soak-jobs": { type: "string" },
    },
  });
  const all = { ...PARTS, ...EXTRA_PARTS };
  const only = values.only.split(",").filter((name) => name !== "");
  const unknown = only.find((name) => all[name] === undefined);
  if (unknown !== undefined) throw new Error(`no part "${unknown}": choose from ${Object.keys(all).join(", ")}`);
  if (!(Number(values.warm) >= 0)) throw new Error("--warm takes a number of seconds");
  if (!(Number(values["fsync-ms"]) >= 0)) throw new Error("--fsync-ms takes a number of milliseconds");
  if (!(Number(values["soak-minutes"]) > 0)) throw new Error("--soak-minutes takes a number of minutes");
  const soakJobs = values["soak-jobs"] === undefined ? null : Number(values["soak-jobs"]);
  if (soakJobs !== null && !(soakJobs > 0)) throw new Error("--soak-jobs takes a number of jobs a second");
  const names = only.length > 0 ? only : Object.keys(PARTS);
  const parts = Object.entries(all).filter(([name]) => names.includes(name));
  return {
    scale: values.quick ? "quick" : values.full ? "full" : "usual",
    parts,
    warmMs: Number(values.warm) * 1000,
    fsyncMs: Number(values["fsync-ms"]),
    soak: { minutes: Number(values["soak-minutes"]), jobsPerSecond: soakJobs },
    hostileArgs: values.heap === undefined ? [] : ["--heap", values.heap],
    attack: values.attack,
    keptIn: values.kept === undefined ? null : path.resolve(values.kept),
  } as const;
}

/** A part that fails costs only its own figures; the run then ends with exit code 1. */
async function attempt(name: string, part: Measurement, bench: Bench): Promise<void> {
  try {
    await part(bench);
  } catch (error) {
    process.exitCode = 1;
    bench.say(figure({ part: name, what: "failed", unit: "", note: (error as Error).message.slice(0, MAX_NOTE) }));
  }
}

async function main(): Promise<void> {
  const { scale, parts, warmMs, fsyncMs, soak, hostileArgs, attack, keptIn } = readFlags();
  const folder = mkdtempSync(path.join(tmpdir(), "signalbox-bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));
  slowDisk(fsyncMs);
  const fsyncMicros = Math.round(fsyncMicroseconds(folder)) + fsyncMs * 1_000;
  const floor = await startFloor(path.join(folder, "floor"));
  const signalbox = await startSignalbox(path.join(keptIn ?? folder, "signalbox"));
  const bench: Bench = {
    ...SCALES[scale],
    scale,
    warmMs,
    soak,
    hostileArgs,
    attack,
    folder,
    keptIn,
    floor,
    signalbox,
    clients: [1, 32, 128],
    figures: [],
    say: (found) => {
      bench.figures.push(found);
      console.error(table([found]).split("\n").at(-1));
    },
  };
  try {
    await warm(() => openFloor(floor.port), warmMs);
    await warm(() => openSignalbox(signalbox.port), warmMs);
    for (const [name, part] of parts) await attempt(name, part, bench);
  } finally {
    await Promise.all([floor.stop(), signalbox.stop()]);
  }
  console.log(table(bench.figures));
  console.log(`An fsync of 4 KiB took ${fsyncMicros} µs before the run.`);
  const machine = { scale, node: process.version, cpu: cpus()[0]?.model ?? "", cores: cpus().length, fsyncMicros };
  console.log(jsonLine(machine, bench.figures));
  // Sockets of a failed part may still be open.
  process.exit();
}

await main();
