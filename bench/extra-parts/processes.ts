// Four tenants in one, two and four object processes (SERVICE_PROCESSES), alternating. With a core for each process the
// rate grows; on a smaller machine the CPU time of a job shows that sharing the tenants costs nothing.

import path from "node:path";
import { figure } from "../figures.ts";
import { socketJobs } from "../jobs.ts";
import { interleaved } from "../load.ts";
import { BATCH, tally } from "../parts/jobs.ts";
import type { Bench } from "../plan.ts";
import { openSignalbox, startSignalbox } from "../signalbox.ts";

const PROCESSES = [1, 2, 4];
const TENANTS = 4;
const CLIENTS = 32;

export const processes = async ({ folder, pace, say }: Bench): Promise<void> => {
  const started = [];
  try {
    for (const count of PROCESSES) {
      const dataDir = path.join(folder, `processes-${count}`);
      const server = await startSignalbox(dataDir, undefined, [], { SERVICE_PROCESSES: String(count) });
      started.push({ count, server, tally: tally(server) });
    }
    const ways = started.map(({ server: { port }, tally: { add } }) => async () => {
      const places = await Promise.all(Array.from({ length: TENANTS }, () => openSignalbox(port)));
      return add(() => socketJobs(places, CLIENTS, pace, "batch"));
    });
    const rates = await interleaved(pace.rounds, ways);
    const [first] = started;
    for (const [index, { count, tally }] of started.entries()) {
      const of = `${TENANTS} tenants, ${count} object process${count === 1 ? "" : "es"}`;
      const ratio = tally.cpuPerJob() / (first?.tally.cpuPerJob() ?? 1);
      const shared = { part: "processes", clients: CLIENTS };
      say(figure({ ...shared, what: `${of}: ${BATCH}`, unit: "jobs/s", signalbox: rates[index] ?? 0 }));
      const note = `to one process (${tally.byProcess()})`;
      say(figure({ ...shared, what: `${of}: CPU a job`, unit: "µs", signalbox: tally.cpuPerJob(), ratio, note }));
    }
  } finally {
    await Promise.all(started.map(({ server }) => server.stop()));
  }
};
