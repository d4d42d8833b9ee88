// The workerd processes of one data folder, found by the config that each was started with. Linux only.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

export interface ChildProcessFound {
  readonly pid: number;
  /** `serving`, `serving-1`, `history`. */
  readonly name: string;
}

const textOf = (file: string): string => {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
};

const commandOf = (pid: string): string[] => textOf(`/proc/${pid}/cmdline`).split("\0");

const isKilled = (pid: number): boolean => {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
};

export const childProcesses = (dataDir: string): ChildProcessFound[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const config = commandOf(pid).find((word) => word.endsWith(".capnp") && path.dirname(word) === dataDir);
      return config === undefined ? [] : [{ pid: Number(pid), name: path.basename(config, ".capnp") }];
    });

/** The process that serves HTTP, found by its data folder; the one that starts it again is not meant. */
export const servingProcess = (dataDir: string): number | null => {
  const found = readdirSync("/proc").find((pid) => {
    const command = /^\d+$/.test(pid) ? commandOf(pid) : [];
    if (!command.some((word) => path.isAbsolute(word) && word.endsWith("/dist/server/start.js"))) return false;
    return textOf(`/proc/${pid}/environ`).split("\0").includes(`SERVICE_DATA_DIR=${dataDir}`);
  });
  return found === undefined ? null : Number(found);
};

/** Ends it as `kill -9` does; returns whether it was there. */
export const killServing = (dataDir: string): boolean => {
  const pid = servingProcess(dataDir);
  return pid !== null && isKilled(pid);
};

/** Ends one of them as `kill -9` does; returns whether it was there. */
export const killChild = (dataDir: string, name: string): boolean => {
  const found = childProcesses(dataDir).find((one) => one.name === name);
  return found !== undefined && isKilled(found.pid);
};
