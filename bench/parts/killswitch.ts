// A full halt of a tenant with thousands of workers on WebSockets: how long until its answer, until the last worker is
// told, and until the last one has confirmed. Each worker confirms as soon as it is told.

import path from "node:path";
import { BeatingSockets } from "../beating-sockets.ts";
import { Connection } from "../connection.ts";
import { ensureDescriptors } from "../descriptors.ts";
import { figure } from "../figures.ts";
import { median } from "../load.ts";
import type { Bench, Scale } from "../plan.ts";
import { createTenant, startSignalbox } from "../signalbox.ts";

const WORKERS: Readonly<Record<Scale, number>> = { quick: 1_000, usual: 4_500, full: 9_000 };
/** Halts in a row; the median counts. */
const HALTS = 3;
/** The first halt after connecting is slower than the others, so it is not counted. */
const WARM_UP_HALTS = 1;

const LEVEL = 4;
const HALTED = `"type":"killswitch","killswitch":{"level":${LEVEL}`;

interface Times {
  answered: number;
  told: number;
  confirmed: number;
}

export async function killswitch({ folder, scale, say }: Bench): Promise<void> {
  const count = WORKERS[scale];
  ensureDescriptors(count);
  const served = await startSignalbox(path.join(folder, "killswitch"));
  try {
    const tenant = await createTenant(served.port);
    const workers = await BeatingSockets.connect(tenant, count);
    const operator = await Connection.open(served.port, tenant.authorization);
    const taken: Times[] = [];
    for (let halt = 0; halt < WARM_UP_HALTS + HALTS; halt += 1) taken.push(await timesOf(workers, operator));
    operator.close();
    workers.close();
    const measured = taken.slice(WARM_UP_HALTS);
    const shown = (what: string, ms: (times: Times) => number): void =>
      say(
        figure({
          part: "killswitch",
          what: `${count} workers: ${what}`,
          unit: "ms",
          signalbox: median(measured.map(ms)),
        }),
      );
    shown("its answer", ({ answered }) => answered);
    shown("the last is told", ({ told }) => told);
    shown("the last has confirmed", ({ confirmed }) => confirmed);
  } finally {
    await served.stop();
  }
}

async function timesOf(workers: BeatingSockets, operator: Connection): Promise<Times> {
  const told = new Set<number>();
  const confirming: Promise<void>[] = [];
  let toldAt = 0;
  const startedAt = performance.now();
  const allTold = new Promise<void>((resolve) => {
    workers.onFrame = (index, frame) => {
      if (told.has(index) || !frame.includes(HALTED)) return;
      told.add(index);
      confirming.push(workers.presence(index));
      if (told.size < workers.count) return;
      toldAt = performance.now();
      resolve();
    };
  });
  await operator.call("POST", "/killswitch", { level: LEVEL, reason: "bench" });
  const answeredAt = performance.now();
  await allTold;
  await Promise.all(confirming);
  const confirmedAt = performance.now();
  workers.onFrame = () => {};
  await operator.call("DELETE", "/killswitch?resume_all=true");
  return { answered: answeredAt - startedAt, told: toldAt - startedAt, confirmed: confirmedAt - startedAt };
}
