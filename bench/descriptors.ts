// File descriptors: a server takes two for each WebSocket and ends when they are gone, so a part that opens thousands
// makes sure of them before it starts its server.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** For storage, listening, connections of other kinds. */
const SPARE = 1_000;
const A_SOCKET = 2;

/** Raises the limit of this process and those it starts where that is allowed; throws where it is too low. */
export function ensureDescriptors(sockets: number): void {
  const needed = sockets * A_SOCKET + SPARE;
  if (limit() >= needed) return;
  try {
    execFileSync("prlimit", ["--pid", String(process.pid), `--nofile=${needed}:${needed}`], { stdio: "ignore" });
  } catch {
    // Not allowed, or no such command: the check below says what to do.
  }
  if (limit() >= needed) return;
  throw new Error(`${sockets} sockets need ${needed} file descriptors, the limit is ${limit()}: ulimit -n ${needed}`);
}

/** Where the system does not tell, it is not known to be too low. */
function limit(): number {
  try {
    const text = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return text === undefined || text === "unlimited" ? Number.POSITIVE_INFINITY : Number(text);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
