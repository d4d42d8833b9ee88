// BullMQ by its library: `queue.add` or `addBulk`, and a Worker with many places. Usage: node bullmq-library.ts
// <Redis's socket> <LibraryRun as JSON>

import { randomUUID } from "node:crypto";
import { Queue, Worker } from "bullmq";
import { runLibrary } from "./library-loop.ts";

const PLACES = 1_000;
const [, , socket = "", run = "{}"] = process.argv;
const connection = { path: socket, maxRetriesPerRequest: null };
const data = { prompt: "Summarise this in one line." };

const name = randomUUID();
const queue = new Queue(name, { connection });
let done = 0;
const worker = new Worker(name, async () => "A line.", { connection, concurrency: PLACES });
worker.on("completed", () => {
  done += 1;
});
await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
const create = (count: number) =>
  count === 1 ? queue.add("job", data) : queue.addBulk(Array.from({ length: count }, () => ({ name: "job", data })));
await runLibrary({ create, done: () => done }, JSON.parse(run));
process.exit();
