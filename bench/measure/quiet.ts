// Waits until a server has nothing left to do, and measures what it does when idle.

import { setTimeout as pause } from "node:timers/promises";
import type { Served } from "./processes.ts";

/** An object sleeps ten seconds after its last event, and closing its database writes once more. */
const QUIET_MS = 12_000;
const POLL_MS = 250;
const GIVE_UP_MS = 120_000;
const MINUTE_MS = 60_000;
/** By then the Cron Trigger's work is done, and what it woke sleeps again. */
const CRON_MS = 12_500;

/** Everything sleeps: nothing has been written for longer than it takes to fall asleep. */
export const untilQuiet = async (served: Served): Promise<void> => {
  const giveUpAt = performance.now() + GIVE_UP_MS;
  let written = served.writtenBytes();
  for (let quietSince = performance.now(); performance.now() - quietSince < QUIET_MS; await pause(POLL_MS)) {
    if (performance.now() > giveUpAt) throw new Error("the server does not come to rest");
    const now = served.writtenBytes();
    if (now !== written) quietSince = performance.now();
    written = now;
  }
};

export interface Spent {
  seconds: number;
  /** CPU in ms; null if the system does not say. */
  cpuMs: number | null;
  writtenBytes: number | null;
}

/** What the server uses in this time, none of it for the Cron Trigger, which runs each full minute. */
export const spentIn = async (served: Served, windowMs: number): Promise<Spent> => {
  await betweenMinutes(windowMs);
  const cpu = served.cpuMicroseconds();
  const written = served.writtenBytes();
  const startedAt = performance.now();
  await pause(windowMs);
  const since = (before: number | null, now: number | null) => (before === null || now === null ? null : now - before);
  const cpuMicroseconds = since(cpu, served.cpuMicroseconds());
  return {
    seconds: (performance.now() - startedAt) / 1000,
    cpuMs: cpuMicroseconds === null ? null : cpuMicroseconds / 1000,
    writtenBytes: since(written, served.writtenBytes()),
  };
};

/** Waits, if necessary, until a window of this length fits between two runs of the Cron Trigger. */
export const betweenMinutes = async (windowMs: number): Promise<void> => {
  const into = Date.now() % MINUTE_MS;
  if (into < CRON_MS) await pause(CRON_MS - into);
  else if (into + windowMs > MINUTE_MS) await pause(MINUTE_MS - into + CRON_MS);
};
