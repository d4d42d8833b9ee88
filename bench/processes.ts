// The servers under test, each a process of its own on a free loopback port. Nothing outlives the bench.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { type Usage, usageOf } from "./usage.ts";

export const WORKERD: string = createRequire(import.meta.url)("workerd").default;

const READY_WITHIN_MS = 120_000;
const READY_POLL_MS = 10;
const STOP_WITHIN_MS = 8_000;
const KEPT_OUTPUT_CHARS = 4_000;

export interface Served extends Usage {
  port: number;
  /** From its start to its first answer to GET /health. */
  readyMs: number;
  stop: () => Promise<void>;
}

export interface Start {
  command: string;
  args: string[];
  port: number;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
}

const children = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

export async function freePort(): Promise<number> {
  const probe = createServer();
  probe.listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("the system gave no port");
  return address.port;
}

/** Starts a server and waits for its GET /health; what it printed is shown only if it does not get there. */
export async function startProcess({ command, args, port, env = process.env, cwd }: Start): Promise<Served> {
  const startedAt = performance.now();
  const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"], ...(cwd === undefined ? {} : { cwd }) });
  children.add(child);
  let output = "";
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString("utf8")).slice(-KEPT_OUTPUT_CHARS);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  let isRunning = true;
  const exited = once(child, "exit").then(() => {
    isRunning = false;
    children.delete(child);
  });
  const stop = async () => {
    child.kill("SIGTERM");
    const force = setTimeout(() => child.kill("SIGKILL"), STOP_WITHIN_MS);
    await exited;
    clearTimeout(force);
  };
  while (!(await isHealthy(port))) {
    if (!isRunning || performance.now() - startedAt > READY_WITHIN_MS) {
      if (isRunning) await stop();
      throw new Error(`${command} ${args.join(" ")} does not serve:\n${output}`);
    }
    await pause(READY_POLL_MS);
  }
  return {
    port,
    ...usageOf(child.pid ?? 0),
    readyMs: performance.now() - startedAt,
    stop,
  };
}

async function isHealthy(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.status === 200;
}
