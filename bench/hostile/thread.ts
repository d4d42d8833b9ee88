// The thread of an attack, so that sending does not slow the measurement.

import { parentPort, workerData } from "node:worker_threads";
import { type AttackName, begin, type Target } from "./attacks.ts";

const { name, target } = workerData as { name: AttackName; target: Target };
const counts: Record<string, number> = {};

begin(name, target, (outcome) => {
  counts[outcome] = (counts[outcome] ?? 0) + 1;
});
parentPort?.on("message", () => {
  parentPort?.postMessage(counts);
  process.exit();
});
