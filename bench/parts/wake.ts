// How long the first request after a restart takes: the object reads what it needs to decide, not its history, so the
// same fleet with the same open jobs should wake as fast after many more jobs have finished.

import path from "node:path";
import { Connection } from "../connection.ts";
import { figure } from "../figures.ts";
import { untilNoAlarm } from "../history/alarms.ts";
import { finishJobs } from "../history/finished-jobs.ts";
import { median } from "../load.ts";
import type { Served } from "../measure/processes.ts";
import type { Bench, Scale } from "../plan.ts";
import { createTenant, drainHistory, SOCKET_TAG, startSignalbox, type Tenant } from "../signalbox.ts";
import { PROMPT } from "../workplace.ts";
import { fillWithPending } from "./depth.ts";
import { register } from "./fleet.ts";

const MORE_DONE: Readonly<Record<Scale, number>> = { quick: 2_000, usual: 20_000, full: 100_000 };
const DONE_JOB = { prompt: PROMPT, tags: [SOCKET_TAG] };

export const wake = async ({ folder, scale, pace, sizes, say }: Bench): Promise<void> => {
  const dataDir = path.join(folder, "wake");
  const rounds = Math.max(2, pace.rounds);
  const more = MORE_DONE[scale];
  let served = await startSignalbox(dataDir);
  const what = `${sizes.wakeWorkers} workers, ${sizes.wakeJobs} open jobs`;
  try {
    const empty = await createTenant(served.port);
    const full = await createTenant(served.port);
    const restart = async () => {
      await drainHistory(full);
      // An alarm that is due at the start would wake the object before the measured request.
      await untilNoAlarm(path.join(dataDir, "state", "objects"));
      await served.stop();
      served = await startSignalbox(dataDir, served.port);
      // The edge compiles its code on its first call, so another tenant's request comes first.
      await answerMs(served.port, empty.authorization);
      return served;
    };
    await register(full, sizes.wakeWorkers);
    await fillWithPending(full, sizes.wakeJobs);
    const before = await timesOf(rounds, full, restart);
    for (const [name, ms] of Object.entries(before)) {
      say(figure({ part: "wake", what: `${what}: ${name}`, unit: "ms", signalbox: ms }));
    }
    await finishJobs(full, more, DONE_JOB);
    const after = (await timesOf(rounds, full, restart))[FIRST];
    const found = figure({ part: "wake", what: `${what}, ${more} more done: ${FIRST}`, unit: "ms", signalbox: after });
    say({ ...found, ratio: after / before[FIRST], note: "ratio to before those were done" });
  } finally {
    await served.stop();
  }
};

const FIRST = "first job created";

/** Medians, in ms. */
const timesOf = async (rounds: number, { port, authorization }: Tenant, restart: () => Promise<Served>) => {
  const readyMs: number[] = [];
  const firstMs: number[] = [];
  const secondMs: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    readyMs.push((await restart()).readyMs);
    firstMs.push(await answerMs(port, authorization));
    secondMs.push(await answerMs(port, authorization));
  }
  return {
    "start until GET /health": median(readyMs),
    [FIRST]: median(firstMs),
    "second job created": median(secondMs),
  };
};

const answerMs = async (port: number, authorization: string): Promise<number> => {
  const connection = await Connection.open(port, authorization);
  const startedAt = performance.now();
  await connection.call("POST", "/api/jobs", { prompt: PROMPT, tags: ["nobody-0"] });
  const tookMs = performance.now() - startedAt;
  connection.close();
  return tookMs;
};
