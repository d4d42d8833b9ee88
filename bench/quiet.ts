// Waiting for a server to have nothing left to do, and measuring what it does while nobody asks it anything.

import { setTimeout as pause } from "node:timers/promises";
import type { Served } from "./processes.ts";

/** Ten seconds after its last event an object sleeps, and closing its database writes once more. */
const QUIET_MS = 12_000;
const POLL_MS = 250;
const GIVE_UP_MS = 120_000;
const MINUTE_MS = 60_000;
/** The Cron Trigger's own work is over by then, and what it woke sleeps again. */
const CRON_MS = 12_500;

/** Everything sleeps: nothing has been written for longer than it takes to fall asleep. */
export async function untilQuiet(served: Served): Promise<void> {
  const giveUpAt = performance.now() + GIVE_UP_MS;
  let written = served.writtenBytes();
  for (let quietSince = performance.now(); performance.now() - quietSince < QUIET_MS; await pause(POLL_MS)) {
    if (performance.now() > giveUpAt) throw new Error("the server does not come to rest");
    const now = served.writtenBytes();
    if (now !== written) quietSince = performance.now();
    written = now;
  }
}

export interface Spent {
  seconds: number;
  /** Of CPU, ms; null where the system does not tell. */
  cpuMs: number | null;
  writtenBytes: number | null;
}

/** What the server spends in so long a time, none of it on the Cron Trigger, which runs each full minute. */
export async function spentIn(served: Served, windowMs: number): Promise<Spent> {
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
}

/** Waits, if it must, until so long a time fits between two runs of the Cron Trigger. */
export async function betweenMinutes(windowMs: number): Promise<void> {
  const into = Date.now() % MINUTE_MS;
  if (into < CRON_MS) await pause(CRON_MS - into);
  else if (into + windowMs > MINUTE_MS) await pause(MINUTE_MS - into + CRON_MS);
}
