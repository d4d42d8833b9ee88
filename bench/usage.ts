// What a process and its children have used, as Linux's /proc tells; null on systems without it.

import { readFileSync } from "node:fs";

export interface Usage {
  /** CPU time used so far, µs. */
  cpuMicroseconds: () => number | null;
  /** Handed to the disk so far, bytes: the kernel counts whole pages, once each time they become dirty. */
  writtenBytes: () => number | null;
  /** Resident memory of the workerd among them, bytes. */
  residentBytes: () => number | null;
}

/** The kernel counts in hundredths of a second, whatever the machine. */
const TICK_MICROSECONDS = 10_000;
const KIB = 1024;

export const usageOf = (pid: number): Usage => ({
  cpuMicroseconds: () => sumOver(pid, cpuOf),
  writtenBytes: () => sumOver(pid, (one) => numberIn(`/proc/${one}/io`, /^write_bytes: (\d+)/m)),
  residentBytes: () => sumOver(pid, residentOf),
});

function sumOver(pid: number, read: (pid: number) => number): number | null {
  try {
    return [pid, ...childrenOf(pid)].reduce((sum, one) => sum + read(one), 0);
  } catch {
    return null;
  }
}

function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
  return children.map(Number).flatMap((child) => [child, ...childrenOf(child)]);
}

function cpuOf(pid: number): number {
  const [, afterName = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const fields = afterName.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MICROSECONDS;
}

function residentOf(pid: number): number {
  const isWorkerd = readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("workerd");
  return isWorkerd ? numberIn(`/proc/${pid}/status`, /^VmRSS:\s+(\d+) kB/m) * KIB : 0;
}

const numberIn = (file: string, pattern: RegExp): number => Number(pattern.exec(readFileSync(file, "utf8"))?.[1] ?? 0);
