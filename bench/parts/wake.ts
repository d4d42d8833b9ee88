// How long the first request after a restart waits: the object reads what it needs to decide, not its history.

import path from "node:path";
import { Connection } from "../connection.ts";
import { figure } from "../figures.ts";
import { median } from "../load.ts";
import type { Bench } from "../plan.ts";
import { createTenant, startSignalbox } from "../signalbox.ts";
import { PROMPT } from "../workplace.ts";
import { fillWithPending } from "./depth.ts";
import { register } from "./fleet.ts";

export async function wake({ folder, pace, sizes, say }: Bench): Promise<void> {
  const dataDir = path.join(folder, "wake");
  let served = await startSignalbox(dataDir);
  const readyMs: number[] = [];
  const firstMs: number[] = [];
  const secondMs: number[] = [];
  try {
    const empty = await createTenant(served.port);
    const full = await createTenant(served.port);
    await register(full, sizes.wakeWorkers);
    await fillWithPending(full, sizes.wakeJobs);
    for (let round = 0; round < Math.max(2, pace.rounds); round += 1) {
      await served.stop();
      served = await startSignalbox(dataDir, served.port);
      readyMs.push(served.readyMs);
      // The edge compiles its code on its first call: let another tenant's request pay for that.
      await answerMs(served.port, empty.authorization);
      firstMs.push(await answerMs(served.port, full.authorization));
      secondMs.push(await answerMs(served.port, full.authorization));
    }
  } finally {
    await served.stop();
  }
  const what = `${sizes.wakeWorkers} workers, ${sizes.wakeJobs} open jobs`;
  const say1 = (name: string, samples: number[]) =>
    say(figure({ part: "wake", what: `${what}: ${name}`, unit: "ms", signalbox: median(samples) }));
  say1("start until GET /health", readyMs);
  say1("first job created", firstMs);
  say1("second job created", secondMs);
}

async function answerMs(port: number, authorization: string): Promise<number> {
  const connection = await Connection.open(port, authorization);
  const startedAt = performance.now();
  await connection.call("POST", "/api/jobs", { prompt: PROMPT, tags: ["nobody-0"] });
  const tookMs = performance.now() - startedAt;
  connection.close();
  return tookMs;
}
