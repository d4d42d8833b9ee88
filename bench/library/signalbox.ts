// Signalbox by its library: `jobs.create` or `createMany` of the SDK, and one worker on a socket with a thousand places,
// as the peer's. Usage: node signalbox.ts <Tenant as JSON> <LibraryRun as JSON>

import { Signalbox } from "../../sdk/signalbox.ts";
import { runLibrary } from "../peers/library-loop.ts";
import { SOCKET_TAG, socketWire } from "../signalbox.ts";
import { SocketWorkers } from "../socket-workers.ts";
import { PROMPT } from "../workplace.ts";

const [, , tenantText = "{}", run = "{}"] = process.argv;
const tenant = JSON.parse(tenantText);

const url = `http://127.0.0.1:${tenant.port}`;
const { jobs } = new Signalbox({ url, key: tenant.authorization.replace("Bearer ", "") });
const workers = await SocketWorkers.connect(socketWire(tenant), ["library"]);
const job = { prompt: PROMPT, tags: [SOCKET_TAG] };
const create = (count: number) =>
  count === 1 ? jobs.create(job) : jobs.createMany(Array.from({ length: count }, () => job));
await runLibrary({ create, done: () => workers.stored }, JSON.parse(run));
process.exit();
