// Signalbox by its library: `jobs.create` or `createMany` of the SDK, and one worker with a thousand places, as the
// peer's: a function that `serve` calls, or bare frames on a socket. Usage: node signalbox.ts <frames or serve>
// <Tenant as JSON> <LibraryRun as JSON>

import { Signalbox } from "../../sdk/signalbox.ts";
import { serve } from "../../worker/serve/serve.ts";
import { runLibrary } from "../peers/library-loop.ts";
import { SOCKET_TAG, socketWire } from "../signalbox.ts";
import { SocketWorkers } from "../socket-workers.ts";
import { PROMPT } from "../workplace.ts";

const PLACES = 1_000;
const [, , kind = "frames", tenantText = "{}", run = "{}"] = process.argv;
const tenant = JSON.parse(tenantText);
const url = `http://127.0.0.1:${tenant.port}`;
const key = tenant.authorization.replace("Bearer ", "");

/** Starts the worker. @returns how many jobs are done: with frames those acknowledged, else those that the function has. */
const WORKERS: Readonly<Record<string, () => Promise<() => number>>> = {
  frames: async () => {
    const workers = await SocketWorkers.connect(socketWire(tenant), ["library"]);
    return () => workers.stored;
  },
  serve: async () => {
    let done = 0;
    const as = { provider: "library", url, key, concurrency: PLACES, tags: [SOCKET_TAG], log: () => {} };
    await serve(as, async () => {
      done += 1;
      return "A line.";
    });
    return () => done;
  },
};

const { jobs } = new Signalbox({ url, key });
const start = WORKERS[kind];
if (start === undefined) throw new Error(`a worker of kind ${kind} is not known`);
const done = await start();
const job = { prompt: PROMPT, tags: [SOCKET_TAG] };
const create = (count: number) =>
  count === 1 ? jobs.create(job) : jobs.createMany(Array.from({ length: count }, () => job));
await runLibrary({ create, done }, JSON.parse(run));
process.exit();
