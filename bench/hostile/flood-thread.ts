// The thread of a flood.

import { setTimeout as pause } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { Connection } from "../connection.ts";
import type { Flood } from "./flood.ts";

const REOPEN_AFTER_MS = 20;

const { port, clients, method, path, authorization, body } = workerData as Flood;
const counts: Record<string, number> = {};

const count = (what: string): void => {
  counts[what] = (counts[what] ?? 0) + 1;
};

const flood = async (): Promise<void> => {
  for (;;) {
    try {
      const connection = await Connection.open(port, authorization);
      for (;;) count(String((await connection.request(method, path, body)).status));
    } catch {
      count("cut off");
      await pause(REOPEN_AFTER_MS);
    }
  }
};

for (let client = 0; client < clients; client += 1) void flood();
parentPort?.on("message", () => {
  parentPort?.postMessage(counts);
  process.exit();
});
