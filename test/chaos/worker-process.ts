// A real worker process (`signalbox worker`) that is stopped with SIGSTOP during its work, for longer than its leases
// last, and then continued: its reports are late.

import { spawn } from "node:child_process";
import path from "node:path";
import { SIGNALBOX } from "../support/command-line.ts";
import { pauseWithin, type Stage } from "./stage.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const MAX_AWAKE_MS = 5_000;
const MIN_STOPPED_MS = 1_500;
const MAX_STOPPED_MS = 5_000;

export const runWorkerProcess = async (stage: Stage, instance: string, tags: string): Promise<void> => {
  const flags = { instance, tags, runtime: "echo", provider: "echo", concurrency: "4" };
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn(process.execPath, [SIGNALBOX, "worker", ...args], {
    cwd: ROOT,
    env: { ...process.env, SERVICE_API_URL: stage.rough, SERVICE_API_KEY: stage.adminKey },
    stdio: "ignore",
  });
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  while (!stage.isOver) {
    await pauseWithin(stage, stage.random.next() * MAX_AWAKE_MS);
    if (!stage.isRough) continue;
    child.kill("SIGSTOP");
    await pauseWithin(stage, MIN_STOPPED_MS + stage.random.next() * (MAX_STOPPED_MS - MIN_STOPPED_MS));
    child.kill("SIGCONT");
  }
  const hasDied = child.exitCode !== null;
  kill();
  await exited;
  process.off("exit", kill);
  if (hasDied) {
    stage.history.add({ kind: "broken", call: `worker process ${instance}`, status: child.exitCode ?? -1, body: "" });
  }
};
