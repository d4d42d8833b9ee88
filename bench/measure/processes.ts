// The servers under test, each a process on a free loopback port. None outlives the benchmark.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { onDisk } from "./disk.ts";
import { type Usage, usageOf } from "./usage.ts";

export const WORKERD: string = createRequire(import.meta.url)("workerd").default;

const READY_WITHIN_MS = 120_000;
const READY_POLL_MS = 10;
const STOP_WITHIN_MS = 8_000;
const KEPT_OUTPUT_CHARS = 4_000;

export interface Running extends Usage {
  /** From its start until it was ready: its first answer to GET /health, if it serves HTTP. */
  readyMs: number;
  stop: () => Promise<void>;
  /** Settles when it has ended, for whatever reason. */
  exited: Promise<void>;
}

export interface Served extends Running {
  port: number;
}

interface Command {
  command: string;
  args: string[];
  env?: NodeJS.ProcessEnv;
  cwd?: string;
}

export interface Start extends Command {
  port: number;
}

export interface Run extends Command {
  /** Called repeatedly with the output so far. */
  isReady: (output: string) => boolean | Promise<boolean>;
  /** The account it runs under, if not ours. */
  account?: { uid: number; gid: number };
  /** The signals that ask it to stop and that force it. */
  signals?: { stop: NodeJS.Signals; kill: NodeJS.Signals };
}

const SIGNALS = { stop: "SIGTERM", kill: "SIGKILL" } as const;

const children = new Map<ChildProcess, NodeJS.Signals>();
process.on("exit", () => {
  for (const [child, signal] of children) child.kill(signal);
});

export const freePort = async (): Promise<number> => {
  const probe = createServer();
  probe.listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("the system gave no port");
  return address.port;
};

/** Starts a server and waits for its GET /health. */
export const startProcess = async ({ port, ...command }: Start): Promise<Served> => ({
  port,
  ...(await runProcess({ ...command, isReady: () => isHealthy(port) })),
});

/** Starts a process and waits until it is ready; its output is only shown if it fails. */
export const runProcess = async ({ command, args, isReady, account, signals = SIGNALS, ...where }: Run) => {
  const startedAt = performance.now();
  const child = spawn(...onDisk(command, args), { stdio: ["ignore", "pipe", "pipe"], ...account, ...where });
  children.set(child, signals.kill);
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
    child.kill(signals.stop);
    const force = setTimeout(() => child.kill(signals.kill), STOP_WITHIN_MS);
    await exited;
    clearTimeout(force);
  };
  while (!(await isReady(output))) {
    if (!isRunning || performance.now() - startedAt > READY_WITHIN_MS) {
      if (isRunning) await stop();
      throw new Error(`${command} ${args.join(" ")} does not serve:\n${output}`);
    }
    await pause(READY_POLL_MS);
  }
  const running: Running = {
    ...usageOf(child.pid ?? 0),
    readyMs: performance.now() - startedAt,
    stop,
    exited,
  };
  return running;
};

const isHealthy = async (port: number): Promise<boolean> => {
  const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.status === 200;
};
