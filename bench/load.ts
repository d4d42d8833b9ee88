// Load: a number of clients, each on its own connection, each sending its next request when the last is answered.
// Counts what happens between the end of the warm-up and the end of the measurement.

import { setTimeout as pause } from "node:timers/promises";
import { Connection } from "./connection.ts";

export interface Pace {
  warmUpMs: number;
  measureMs: number;
  rounds: number;
}

export interface Load {
  clients: number;
  port: number;
  /** The Authorization header of a client's connection. */
  authorizationOf?: (client: number) => string;
  step: (connection: Connection, client: number) => Promise<unknown>;
  /** What has been done so far, if that is not the number of steps. */
  done?: () => number;
}

/** Done per second. */
export const throughput = async ({ clients, port, authorizationOf, step, done }: Load, pace: Pace): Promise<number> => {
  let steps = 0;
  let isOver = false;
  const count = done ?? (() => steps);
  const connections = await Promise.all(
    Array.from({ length: clients }, (_, client) => Connection.open(port, authorizationOf?.(client) ?? null)),
  );
  const running = connections.map(async (connection, client) => {
    while (!isOver) {
      await step(connection, client);
      steps += 1;
    }
  });
  const all = Promise.all(running);
  try {
    await Promise.race([pause(pace.warmUpMs), all]);
    const before = count();
    const startedAt = performance.now();
    await Promise.race([pause(pace.measureMs), all]);
    const rate = ((count() - before) * 1000) / (performance.now() - startedAt);
    isOver = true;
    await all;
    return rate;
  } finally {
    isOver = true;
    for (const connection of connections) connection.close();
  }
};

export const median = (values: readonly number[]): number => percentile(values, 0.5);

export const percentile = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
};

/** The same measurement of several targets, alternating so that a noisy machine affects all equally; medians. */
export const interleaved = async (
  rounds: number,
  measurements: readonly (() => Promise<number>)[],
): Promise<number[]> => {
  const taken = measurements.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, measure] of measurements.entries()) taken[index]?.push(await measure());
  }
  return taken.map(median);
};
