// The CPU time that a job costs the object's own code, in each way: microseconds, as JSON. The platform is replaced, so
// compare figures of one machine only, of runs that alternate. Usage: node bench/object/main.ts

import { openObject } from "./home.ts";
import { openWays } from "./ways.ts";

/** A multiple of what each way creates at a time. */
const JOBS_A_STRETCH = 480;
/** Neighbours on the machine make a stretch dear, never cheap: many short ones are measured, and a low one counts. */
const STRETCHES = 36;
const WARM_UP = 6;
const LOW = 0.1;
/** History is sent what has gathered once in so many stretches. */
const DRAINED_EVERY = 6;

const cpuOf = async (work: () => Promise<unknown>): Promise<number> => {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
};

const low = (times: readonly number[]): number =>
  times.toSorted((one, other) => one - other)[Math.floor(times.length * LOW)] ?? 0;

const { drain, edge } = await openObject();
const figures: Record<string, number> = {};
for (const [name, way] of Object.entries(await openWays(edge))) {
  const turns: number[] = [];
  const drains: number[] = [];
  for (let stretch = 0; stretch < STRETCHES; stretch += 1) {
    turns.push((await cpuOf(() => way(JOBS_A_STRETCH))) / JOBS_A_STRETCH);
    if (stretch % DRAINED_EVERY === DRAINED_EVERY - 1)
      drains.push((await cpuOf(drain)) / (JOBS_A_STRETCH * DRAINED_EVERY));
  }
  figures[name] = low(turns.slice(WARM_UP)) + low(drains.slice(WARM_UP / DRAINED_EVERY));
}
process.stdout.write(`${JSON.stringify(figures)}\n`);
process.exit();
