// A child process in its own process group, so that Ctrl-C reaches only us and we choose the order of stopping, with a
// guard that kills it if we are killed (kill -9 leaves no orphan).

import { type ChildProcess, spawn } from "node:child_process";
import { logFormatOf, logOutput } from "./child-output.ts";

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
  /** SIGTERM, then SIGKILL if it takes too long. Resolves when it and what it started have ended. */
  stop: (graceMs: number) => Promise<void>;
}

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

/** `what`: its name in the log. */
export const supervise = (
  what: string,
  command: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  cwd: string,
): Supervised => {
  const output = logFormatOf(process.env) === "json" ? "pipe" : "inherit";
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", output, output], detached: true });
  logOutput(what, child);
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
        child.kill("SIGTERM");
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
