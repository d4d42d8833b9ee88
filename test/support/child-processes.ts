// The workerd processes of one data folder, found by the config that each was started with. Linux only.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

export interface ChildProcessFound {
  readonly pid: number;
  /** `serving`, `serving-1`, `history`. */
  readonly name: string;
}

const commandOf = (pid: string): string[] => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
};

export const childProcesses = (dataDir: string): ChildProcessFound[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const config = commandOf(pid).find((word) => word.endsWith(".capnp") && path.dirname(word) === dataDir);
      return config === undefined ? [] : [{ pid: Number(pid), name: path.basename(config, ".capnp") }];
    });

/** Ends one of them as `kill -9` does; returns whether it was there. */
export const killChild = (dataDir: string, name: string): boolean => {
  const found = childProcesses(dataDir).find((one) => one.name === name);
  if (found === undefined) return false;
  try {
    process.kill(found.pid, "SIGKILL");
    return true;
  } catch {
    return false;
  }
};
