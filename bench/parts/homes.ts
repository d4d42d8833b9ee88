// The edge in Node, as in `npm start`, and the edge in workerd alone, as on Cloudflare, both compared with the floor,
// alternating.

import path from "node:path";
import { figure } from "../figures.ts";
import { openFloor } from "../floor/workplace.ts";
import { httpJobs, type Rate, socketJobs } from "../jobs.ts";
import { interleaved } from "../load.ts";
import type { Bench } from "../plan.ts";
import { openSignalbox, startSignalbox } from "../signalbox.ts";
import type { Open, Workplace } from "../workplace.ts";
import { DISPATCH, THREE_CALLS, tally } from "./jobs.ts";

const CLIENTS = 32;

type Measure = (place: Workplace) => Promise<Rate>;

export const homes = async (bench: Bench): Promise<void> => {
  const alone = await startSignalbox(path.join(bench.folder, "alone"), undefined, ["--edge", "workerd"]);
  const compare = async (what: string, measure: Measure): Promise<void> => {
    const tallies = [bench.floor, bench.signalbox, alone].map(tally);
    const opens: readonly Open[] = [
      () => openFloor(bench.floor.port),
      () => openSignalbox(bench.signalbox.port),
      () => openSignalbox(alone.port),
    ];
    const rates = await interleaved(
      bench.pace.rounds,
      opens.map((open, index) => async () => (await tallies[index]?.add(async () => measure(await open()))) ?? 0),
    );
    for (const [index, home] of ["Node", "workerd alone"].entries()) {
      const [floor = 0, signalbox = 0] = [rates[0], rates[index + 1]];
      const used = tallies[index + 1];
      const note = `CPU ${used?.cpuPerJob()} to ${tallies[0]?.cpuPerJob()} µs/job (${used?.byProcess()})`;
      bench.say(
        figure({
          part: "homes",
          what: `${what}, edge in ${home}`,
          clients: CLIENTS,
          unit: "jobs/s",
          floor,
          signalbox,
          note,
        }),
      );
    }
  };
  try {
    await compare(THREE_CALLS, (place) => httpJobs([place], CLIENTS, bench.pace));
    await compare(DISPATCH, (place) => socketJobs([place], CLIENTS, bench.pace, "dispatch"));
  } finally {
    await alone.stop();
  }
};
