// What a process and its children have used, from Linux's /proc; null on other systems.

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

export interface Usage {
  /** CPU time used so far, µs. */
  cpuMicroseconds: () => number | null;
  /** The same by process, named by its role. */
  cpuByProcess: () => ReadonlyMap<string, number>;
  /** Bytes written to disk so far: the kernel counts whole pages, once each time they become dirty. */
  writtenBytes: () => number | null;
  /** Resident memory of all of them, in bytes. */
  residentBytes: () => number | null;
  /** The same by process, named by its role. */
  residentByProcess: () => ReadonlyMap<string, number>;
  /** The most that each has had at a time since `forgetPeaks`. */
  peakByProcess: () => ReadonlyMap<string, number>;
  forgetPeaks: () => void;
}

/** The kernel counts in hundredths of a second on every machine. */
const TICK_MICROSECONDS = 10_000;
const KIB = 1024;

export const usageOf = (pid: number): Usage => ({
  cpuMicroseconds: () => sumOver(pid, cpuOf),
  cpuByProcess: () => sumByProcess(pid, cpuOf),
  writtenBytes: () => sumOver(pid, (one) => numberIn(`/proc/${one}/io`, /^write_bytes: (\d+)/m)),
  residentBytes: () => sumOver(pid, residentOf),
  residentByProcess: () => sumByProcess(pid, residentOf),
  peakByProcess: () => sumByProcess(pid, peakOf),
  forgetPeaks: () => void sumOver(pid, forgetPeak),
});

const sumOver = (pid: number, read: (pid: number) => number): number | null => {
  try {
    return [pid, ...childrenOf(pid)].reduce((sum, one) => sum + read(one), 0);
  } catch {
    return null;
  }
};

const childrenOf = (pid: number): number[] => {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
  return children.map(Number).flatMap((child) => [child, ...childrenOf(child)]);
};

/** The role of a workerd process follows from its config's name. */
const nameOf = (pid: number): string => {
  const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").filter(Boolean);
  const config = words.find((word) => word.endsWith(".capnp"));
  return path.basename(config ?? words[0] ?? "", ".capnp");
};

const sumByProcess = (pid: number, read: (pid: number) => number): ReadonlyMap<string, number> => {
  const found = new Map<string, number>();
  try {
    for (const one of [pid, ...childrenOf(pid)]) {
      const name = nameOf(one);
      if (name !== "sh") found.set(name, (found.get(name) ?? 0) + read(one));
    }
  } catch {
    // Without /proc nothing is known.
  }
  return found;
};

const cpuOf = (pid: number): number => {
  const [, afterName = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const fields = afterName.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MICROSECONDS;
};

const residentOf = (pid: number): number => numberIn(`/proc/${pid}/status`, /^VmRSS:\s+(\d+) kB/m) * KIB;

const peakOf = (pid: number): number => numberIn(`/proc/${pid}/status`, /^VmHWM:\s+(\d+) kB/m) * KIB;

/** The kernel notes the most memory that a process has had since this. */
const forgetPeak = (pid: number): number => {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  return 0;
};

const numberIn = (file: string, pattern: RegExp): number => Number(pattern.exec(readFileSync(file, "utf8"))?.[1] ?? 0);
