// A child process in its own process group, so that Ctrl-C reaches only us and we choose the order of stopping, with a
// guard that kills it if we are killed (kill -9 leaves no orphan). On Windows, a child without a console gets no Ctrl-C,
// and one that is not detached ends with us.

import { type ChildProcess, type SpawnOptions, type StdioOptions, spawn } from "node:child_process";
import { logFormatOf, logOutput, passOutput } from "./child-output.ts";

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface Supervised {
  exited: Promise<Exit>;
  isRunning: () => boolean;
  /** Pauses it and resumes it; it does not notice either. */
  freeze: () => void;
  thaw: () => void;
  /** SIGTERM, or our message, then SIGKILL if it takes too long. Resolves when it and what it started have ended. */
  stop: (graceMs: number) => Promise<void>;
}

/** What a worker takes for SIGTERM, which ends it at once on Windows. */
const SHUTDOWN = "shutdown";

/** A child that inherits an output gets our console with it. */
export const apart = (platform: NodeJS.Platform): SpawnOptions =>
  platform === "win32" ? { windowsHide: true, detached: false } : { detached: true };

/** A shell that waits on a pipe from us, which closes however we die. Windows has no such shell. */
const guardAgainstOrphaning = (child: ChildProcess): void => {
  if (process.platform === "win32" || child.pid === undefined) return;
  const script = 'read -r _; kill -s KILL -- "-$0" 2>/dev/null';
  const guard = spawn("sh", ["-c", script, String(child.pid)], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  guard.on("error", () => {});
  guard.stdin?.on("error", () => {});
  guard.unref();
  child.once("exit", () => guard.kill("SIGKILL"));
};

/** What it started and left behind. */
const endGroup = ({ pid }: ChildProcess): void => {
  if (process.platform === "win32" || pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nothing is left.
  }
};

interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** It listens to our message, and ends in order also where no signal asks it to. */
  readonly isTold?: boolean;
}

/** `what`: its name in the log. `program`: the command and its arguments. */
export const supervise = (
  what: string,
  program: readonly [string, readonly string[]],
  { env, cwd, isTold = false }: Surroundings,
): Supervised => {
  const format = logFormatOf(process.env);
  const output = format === "json" || process.platform === "win32" ? "pipe" : "inherit";
  const stdio: StdioOptions = ["ignore", output, output, ...(isTold ? ["ipc" as const] : [])];
  const child = spawn(...program, { cwd, env, stdio, ...apart(process.platform) });
  if (format === "json") logOutput(what, child);
  else passOutput(child);
  guardAgainstOrphaning(child);
  let isRunning = child.pid !== undefined;
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      isRunning = false;
      resolve({ code, signal });
    });
  });
  // A caller that awaits it still sees the failure; without one it must not end the process.
  exited.catch(() => {});
  return {
    exited,
    isRunning: () => isRunning,
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
    stop: async (graceMs) => {
      if (isRunning) {
        if (child.connected) child.send(SHUTDOWN, () => {});
        else child.kill("SIGTERM");
        const force = setTimeout(() => child.kill("SIGKILL"), graceMs);
        await exited.catch(() => {});
        clearTimeout(force);
      }
      endGroup(child);
    },
  };
};

export const describeExit = ({ code, signal }: Exit): string =>
  signal ? `was ended by ${signal}` : `exited with code ${code}`;
