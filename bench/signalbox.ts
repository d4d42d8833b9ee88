// Signalbox as `npm start` serves it, and one of its tenants as a workplace. Uses only the API.

import { randomBytes } from "node:crypto";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { CoordinatorMessage } from "../contract/socket.ts";
import { Connection } from "./connection.ts";
import { freePort, type Served, startProcess } from "./measure/processes.ts";
import type { Wire } from "./socket-workers.ts";
import { BATCH_JOBS, freshName, PROMPT, RESULT, type Workplace } from "./workplace.ts";

const ROOT = path.resolve(import.meta.dirname, "..");
const ROOT_KEY = randomBytes(32).toString("hex");
const SOCKET_CONCURRENCY = 1000;
const SETUP_CONNECTIONS = 64;
const BEHIND = 503;
const BEHIND_POLL_MS = 100;

export const startSignalbox = async (
  dataDir: string,
  port?: number,
  args: readonly string[] = [],
  settings: Readonly<Record<string, string>> = {},
): Promise<Served> => {
  const chosen = port ?? (await freePort());
  return startProcess({
    command: process.execPath,
    args: ["--disable-warning=ExperimentalWarning", "dist/server/start.js", "--no-worker", ...args],
    cwd: ROOT,
    port: chosen,
    env: {
      ...servingEnvironment(),
      ...settings,
      PORT: String(chosen),
      SERVICE_HOST: "127.0.0.1",
      SERVICE_DATA_DIR: dataDir,
    },
  });
};

/** Our environment without settings of the operator's own service. */
const servingEnvironment = (): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("SERVICE_"))),
  SERVICE_ROOT_KEY: ROOT_KEY,
  SERVICE_CATALOG_SYNC: "0",
});

export interface Tenant {
  port: number;
  name: string;
  authorization: string;
}

export const createTenant = async (port: number): Promise<Tenant> => {
  const name = freshName();
  const operator = await Connection.open(port, `Bearer ${ROOT_KEY}`);
  const made = (await operator.call("POST", "/admin/tenants", { tenant: name })) as { admin_key: string };
  operator.close();
  return { port, name, authorization: `Bearer ${made.admin_key}` };
};

/** Whether and how fast the tenant could be deleted, in words. */
export const deleteTenant = async (port: number, name: string): Promise<string> => {
  const operator = await Connection.open(port, `Bearer ${ROOT_KEY}`);
  const startedAt = performance.now();
  const { status } = await operator.request("DELETE", `/admin/tenants/${name}`);
  operator.close();
  return `${status} after ${Math.round(performance.now() - startedAt)} ms`;
};

/** Runs `call` for each of `count` numbers, a bounded number at a time. */
export const callEach = async (
  tenant: Tenant,
  count: number,
  call: (connection: Connection, index: number) => Promise<unknown>,
): Promise<void> => {
  let next = 0;
  const lanes = Array.from({ length: Math.min(SETUP_CONNECTIONS, count) }, async () => {
    const connection = await Connection.open(tenant.port, tenant.authorization);
    for (let index = next++; index < count; index = next++) await call(connection, index);
    connection.close();
  });
  await Promise.all(lanes);
};

/** Reading history waits until the object has sent it everything; returns how long that took, in ms. */
export const drainHistory = async (tenant: Tenant): Promise<number> => {
  const connection = await Connection.open(tenant.port, tenant.authorization);
  const startedAt = performance.now();
  // History that is far behind is not waited for by the server.
  while ((await connection.request("GET", "/api/jobs?limit=1")).status === BEHIND) await pause(BEHIND_POLL_MS);
  await connection.call("GET", "/api/jobs?limit=1");
  connection.close();
  return performance.now() - startedAt;
};

const instanceOf = (index: number): string => `worker-${index}`;

/** Jobs for socket workers ask for this tag, so that other registered workers stay idle. */
export const SOCKET_TAG = "socket";
const GREETING = "hello";
const socketJob = { prompt: PROMPT, tags: [SOCKET_TAG] };

export const socketWire = ({ port, authorization }: Tenant): Wire => ({
  url: (instance) => `ws://127.0.0.1:${port}/api/workers/${instance}/connect`,
  authorization,
  hello: (instance) => ({
    type: "presence",
    id: GREETING,
    instance,
    provider: "bench",
    tags: SOCKET_TAG,
    concurrency: SOCKET_CONCURRENCY,
  }),
  completionOf: (message: CoordinatorMessage) =>
    message.type === "job.assigned"
      ? {
          type: "job.completed",
          id: message.job.id,
          job_id: message.job.id,
          lease: message.job.lease,
          result: RESULT,
        }
      : null,
  isStored: (message: CoordinatorMessage) => {
    if (message.type !== "ack") return false;
    if (!message.ok) throw new Error(`a completion was refused: ${JSON.stringify(message.problem)}`);
    return message.id !== GREETING;
  },
});

export const openSignalbox = async (port: number, tenant?: Tenant): Promise<Workplace> => {
  const home = tenant ?? (await createTenant(port));
  const jobs = Array.from({ length: BATCH_JOBS }, () => socketJob);
  return {
    port,
    authorization: home.authorization,
    wire: socketWire(home),
    enrol: (clients) =>
      callEach(home, clients, (connection, client) =>
        connection.call("POST", "/presence", { instance: instanceOf(client), provider: "http", tags: tagOf(client) }),
      ),
    threeCalls: async (connection, client) => {
      await connection.call("POST", "/api/jobs", { prompt: PROMPT, tags: [tagOf(client)] });
      const claimed = await connection.call("POST", `/api/workers/${instanceOf(client)}/claim`, {});
      for (const { id, lease } of (claimed as { jobs: { id: string; lease: number }[] }).jobs) {
        await connection.call("POST", `/api/jobs/${id}/complete`, { lease, result: RESULT });
      }
    },
    create: (connection) => connection.call("POST", "/api/jobs", socketJob),
    dispatch: (connection) => connection.call("POST", "/dispatch", socketJob),
    batch: (connection) => connection.call("POST", "/api/jobs/batch", { jobs }),
    settle: () => drainHistory(home),
  };
};

/** Each client's worker has its own tag, so that it claims what its client created. */
const tagOf = (client: number): string => `client-${client}`;
