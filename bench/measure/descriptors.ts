// File descriptors: a server takes two per WebSocket and ends when they run out, so a part with thousands of sockets
// checks the limit before it starts its server.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** For storage, listening and other connections. */
const SPARE = 1_000;
const A_SOCKET = 2;

/** Raises the limit of this process and its children if possible; throws if it is too low. */
export const ensureDescriptors = (sockets: number): void => {
  const needed = sockets * A_SOCKET + SPARE;
  if (limit() >= needed) return;
  try {
    execFileSync("prlimit", ["--pid", String(process.pid), `--nofile=${needed}:${needed}`], { stdio: "ignore" });
  } catch {
    // Not allowed, or no such command; the check below says what to do.
  }
  if (limit() >= needed) return;
  throw new Error(`${sockets} sockets need ${needed} file descriptors, the limit is ${limit()}: ulimit -n ${needed}`);
};

/** Infinity if the system does not say. */
const limit = (): number => {
  try {
    const text = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return text === undefined || text === "unlimited" ? Number.POSITIVE_INFINITY : Number(text);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
};
