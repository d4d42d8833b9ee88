// How many connections the limit of open files allows. Node raises the soft limit to the hard one, and its children
// inherit it. A connection takes one file, and another in each process if it is passed on (a stream, a data line); the
// first socket of a tenant may take one for its line. Without files nothing could even be logged, so further
// connections are refused at once and the open ones continue.

import { readFileSync } from "node:fs";

/** For databases, logs and sockets between the processes. */
const KEPT_FREE = 256;
const FILES_A_CONNECTION = 2;
const FEWEST_CONNECTIONS = 64;

/** Infinity if the system does not say. */
export const openFileLimit = (): number => {
  try {
    const limit = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return limit === undefined || limit === "unlimited" ? Number.POSITIVE_INFINITY : Number(limit);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
};

export const connectionsWithin = (files: number): number =>
  Math.max(FEWEST_CONNECTIONS, Math.floor((files - KEPT_FREE) / FILES_A_CONNECTION));
