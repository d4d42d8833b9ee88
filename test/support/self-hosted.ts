// The self-hosted server as its user runs it: `scripts/start.ts` on a free port with its own data folder.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "../..");
const READY_WITHIN_MS = 60_000;

export interface SelfHosted {
  readonly url: string;
  readonly adminKey: string;
  /** Its output so far. */
  readonly output: () => string;
  /** Ends it as `kill -9` does: nothing is cleaned up. */
  readonly kill: () => Promise<void>;
  /** SIGTERM; returns the exit code. */
  readonly stop: () => Promise<number | null>;
}

interface Start {
  readonly args?: string[];
  readonly env?: Record<string, string>;
  /** A command that runs the server's command, which follows it. */
  readonly wrapper?: string[];
}

// No system gives a connection that leaves the machine one of these, and a browser opens each of them.
const PORTS = { first: 10_100, count: 22_000 };

/** Free now, and only another test that draws the same number may take it. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count);
    const probe = createServer().listen(port, "127.0.0.1");
    const isFree = await once(probe, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    probe.close();
    await once(probe, "close");
    return port;
  }
};

export const startSelfHosted = async (
  dataDir: string,
  { args = ["--no-worker"], env = {}, wrapper = [] }: Start = {},
): Promise<SelfHosted> => {
  const port = await freePort();
  const [command = "", ...rest] = [...wrapper, process.execPath, "scripts/setup.mjs", "scripts/start.ts", ...args];
  const child = spawn(command, rest, {
    cwd: ROOT,
    env: { ...process.env, PORT: String(port), SERVICE_DATA_DIR: dataDir, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  const url = `http://127.0.0.1:${port}`;
  await untilReady(child, () => output);
  return {
    url,
    adminKey: readFileSync(path.join(dataDir, "default.admin.key"), "utf8").trim(),
    output: () => output,
    kill: async () => {
      const exited = exitOf(child);
      const isRunning = child.exitCode === null && child.signalCode === null;
      if (isRunning && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      await exited;
    },
    stop: async () => {
      const exited = exitOf(child);
      child.kill("SIGTERM");
      return exited;
    },
  };
};

const exitOf = (child: ChildProcess): Promise<number | null> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve(child.exitCode)
    : new Promise((resolve) => child.once("exit", (code) => resolve(code)));

const untilReady = (child: ChildProcess, output: () => string): Promise<void> =>
  new Promise((resolve, reject) => {
    const started = Date.now();
    const look = setInterval(() => {
      const isReady = output().includes("Signalbox is ready");
      const isOver = child.exitCode !== null || Date.now() - started > READY_WITHIN_MS;
      if (!isReady && !isOver) return;
      clearInterval(look);
      if (isReady) resolve();
      else reject(new Error(`the server did not become ready:\n${output()}`));
    }, 20);
  });
