// The service from outside: a tenant of its own, keys, requests over HTTP and sockets, all against the worker as it is
// deployed. Time passes by rewriting what the object stored, never by waiting.

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { Role } from "../../../domain/access/key.ts";
import { JOURNAL_ROOM } from "../../../durable-objects/store/journal.ts";
import type { Tenant } from "../../../durable-objects/tenant.ts";
import { edgeFetch } from "./edge.ts";

export const ORIGIN = "https://signalbox.test";
export const ROOT_KEY = "root-key-of-the-tests";

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies by hand
export type Body = any;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
  readonly text: string;
}

export interface RequestOptions {
  readonly headers?: Record<string, string>;
  /** Sent unchanged. */
  readonly raw?: BodyInit;
}

/** See every answer, e.g. to check it against the OpenAPI document. */
export const observers: ((method: string, path: string, answer: Answer) => void | Promise<void>)[] = [];

/** Any request; JSON in both directions by default. `key` null sends none. */
export const request = async (
  key: string | null,
  method: string,
  path: string,
  body?: unknown,
  { headers = {}, raw }: RequestOptions = {},
): Promise<Answer> => {
  const all = new Headers(headers);
  if (key !== null) all.set("authorization", `Bearer ${key}`);
  if (body !== undefined && !all.has("content-type")) all.set("content-type", "application/json");
  const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await edgeFetch(`${ORIGIN}${path}`, {
    method,
    headers: all,
    redirect: "manual",
    ...(sent === undefined ? {} : { body: sent }),
  });
  const text = await response.text();
  const isJson = (response.headers.get("content-type") ?? "").includes("json");
  const answer = {
    status: response.status,
    headers: response.headers,
    body: isJson && text !== "" ? JSON.parse(text) : text,
    text,
  };
  for (const observe of observers) await observe(method, path, answer);
  return answer;
};

export class Client {
  readonly key: string | null;

  constructor(key: string | null) {
    this.key = key;
  }

  get = (path: string, options?: RequestOptions) => request(this.key, "GET", path, undefined, options);
  post = (path: string, body?: unknown, options?: RequestOptions) => request(this.key, "POST", path, body, options);
  put = (path: string, body?: unknown, options?: RequestOptions) => request(this.key, "PUT", path, body, options);
  patch = (path: string, body?: unknown, options?: RequestOptions) => request(this.key, "PATCH", path, body, options);
  delete = (path: string, options?: RequestOptions) => request(this.key, "DELETE", path, undefined, options);

  /** The body of a request that must succeed. */
  async ok(method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await request(this.key, method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  }
}

export interface World extends Client {
  readonly tenant: string;
  readonly stub: DurableObjectStub<Tenant>;
  /** A client with a new key of a role. */
  withKey(role: Role, name?: string): Promise<Client & { readonly keyId: string }>;
}

let count = 0;

/** A tenant that no other test uses, made with `more`; the client has its admin key. */
export const newWorld = async (more: Record<string, unknown> = {}): Promise<World> => {
  count += 1;
  const tenant = `t${count}-${crypto.randomUUID().slice(0, 8)}`;
  const created = await request(ROOT_KEY, "POST", "/admin/tenants", { tenant, ...more });
  if (created.status !== 201) throw new Error(`no tenant: ${created.status} ${created.text}`);
  const client = new Client(created.body.admin_key as string);
  const stub = env.TENANT.get(env.TENANT.idFromName(tenant));
  const withKey = async (role: string, name = `${role} key`) => {
    const made = await client.ok("POST", "/api/keys", { name, role });
    return Object.assign(new Client(made.key as string), { keyId: made.id as string });
  };
  return Object.assign(client, { tenant, stub, withKey });
};

/** Sockets end in the edge in Node: an object that has some never sleeps. */
export const isOnLines = env.TEST_HOME === "node";

/** The object sleeps, if it can. */
export const sleep = async (world: World): Promise<void> => {
  if (!isOnLines) await evictDurableObject(world.stub);
};

/** The service starts again: its sockets are cut. */
export const restart = async (world: World): Promise<void> => {
  if (!isOnLines) return evictDurableObject(world.stub, { webSockets: "close" });
  await runInDurableObject(world.stub, (_tenant, state) => state.abort("restart")).catch(() => undefined);
};

const ALARM_TRIES = 5;
const ALARM_PAUSE_MS = 20;

/** Fires the tenant's alarm as if its time had come; false if none is set. While it fires by itself none is set. */
export const alarm = async (world: World): Promise<boolean> => {
  for (let tries = 0; tries < ALARM_TRIES; tries += 1) {
    if (await runDurableObjectAlarm(world.stub)) return true;
    await scheduler.wait(ALARM_PAUSE_MS);
  }
  return false;
};

/** Reads or rewrites what the object stores. Its memory is rebuilt when it next wakes (`evictDurableObject`). */
export const inStorage = <T>(world: World, work: (storage: DurableObjectStorage) => T | Promise<T>): Promise<T> =>
  runInDurableObject(world.stub, async (_instance: Tenant, state: DurableObjectState) => work(state.storage));

/** Tests read and change open jobs in their table: they go there as soon as history has them. */
JOURNAL_ROOM.stayMs = 0;

/** The earliest due time of a job that is in no table yet. */
export const JOURNAL_DUE = `SELECT MIN(due_at) AS at FROM (
    SELECT change.value ->> '$.dueAt' AS due_at, change.value ->> '$.job.status' AS status, MAX(outbox.seq)
    FROM outbox, json_each(outbox.jobs) AS change
    WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE id = change.value ->> '$.job.id') GROUP BY change.value ->> '$.job.id'
  ) WHERE status NOT IN ('completed', 'failed', 'cancelled')`;

const LATER_MS = 3_600_000;

/**
 * Moves instants of stored jobs back, as if that much time had passed. History then has them; final ones may have left
 * the object.
 */
export const ageJobs = async (
  world: World,
  ids: readonly string[],
  ms: number,
  fields: readonly string[],
): Promise<void> => {
  // An alarm that is due at once, for a drain, must not come before the test's next step.
  await alarm(world);
  await world.stub.drain();
  const left = await inStorage(world, async (storage) => {
    await storage.setAlarm(Date.now() + LATER_MS);
    return ids.filter((id) => !ageRow(storage.sql, id, ms, fields));
  });
  if (left.length > 0) await evictDurableObject(world.stub);
};

export const ageJob = (world: World, id: string, ms: number, fields: readonly string[]): Promise<void> =>
  ageJobs(world, [id], ms, fields);

/** Returns whether the job is in the table. */
const ageRow = (sql: SqlStorage, id: string, ms: number, fields: readonly string[]): boolean => {
  const [row] = sql.exec("SELECT record FROM jobs WHERE id = ?", id).toArray();
  if (row === undefined) return false;
  const job = JSON.parse(row.record as string) as Record<string, number | null>;
  for (const field of fields) if (typeof job[field] === "number") job[field] -= ms;
  sql.exec(
    "UPDATE jobs SET record = ?, due_at = CASE WHEN due_at IS NULL THEN NULL ELSE due_at - ? END WHERE id = ?",
    JSON.stringify(job),
    ms,
    id,
  );
  return true;
};

/** Makes a worker silent for longer than `offline_after_seconds`. */
export const silence = async (world: World, instance: string): Promise<void> => {
  await inStorage(world, (storage) => {
    const row = storage.sql.exec("SELECT record FROM workers WHERE instance = ?", instance).one();
    const record = { ...JSON.parse(row.record as string), lastHeartbeatAt: Date.now() - 120_000 };
    storage.sql.exec("UPDATE workers SET record = ? WHERE instance = ?", JSON.stringify(record), instance);
  });
  await evictDurableObject(world.stub);
};

export interface Socket {
  readonly socket: WebSocket;
  /** Every message so far, frames unpacked. */
  readonly messages: Body[];
  readonly frames: { readonly at: number; readonly messages: Body[] }[];
  send(message: unknown): void;
  /** The first message that matches, past or future. */
  next(fits: (message: Body) => boolean): Promise<Body>;
  readonly closed: Promise<{ code: number; reason: string }>;
}

/** Opens a WebSocket, or returns the refusal. */
export const connect = async (
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; body: Body; socket: Socket | null }> => {
  const response = await edgeFetch(`${ORIGIN}${path}`, { headers: { upgrade: "websocket", ...headers } });
  if (response.webSocket === null) return { status: response.status, body: await response.json(), socket: null };
  return { status: response.status, body: null, socket: listen(response.webSocket) };
};

const listen = (socket: WebSocket): Socket => {
  const messages: Body[] = [];
  const frames: { at: number; messages: Body[] }[] = [];
  const waiting: { fits: (message: Body) => boolean; resolve: (message: Body) => void }[] = [];
  let end: (event: { code: number; reason: string }) => void = () => undefined;
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    end = resolve;
  });
  socket.addEventListener("message", (event) => {
    const parsed = event.data === "pong" ? "pong" : JSON.parse(event.data as string);
    const unpacked: Body[] = Array.isArray(parsed) ? parsed : [parsed];
    frames.push({ at: Date.now(), messages: unpacked });
    for (const message of unpacked) {
      messages.push(message);
      for (const one of waiting.filter(({ fits }) => fits(message))) {
        waiting.splice(waiting.indexOf(one), 1);
        one.resolve(message);
      }
    }
  });
  socket.addEventListener("close", (event) => end({ code: event.code, reason: event.reason }));
  socket.accept();
  return {
    socket,
    messages,
    frames,
    send: (message) => socket.send(typeof message === "string" ? message : JSON.stringify(message)),
    next: (fits) => {
      const known = messages.find(fits);
      if (known !== undefined) return Promise.resolve(known);
      return new Promise((resolve) => waiting.push({ fits, resolve }));
    },
    closed,
  };
};

/** A worker's socket, welcomed and registered with a presence report. */
export const connectWorker = async (key: string, presence: Record<string, unknown>): Promise<Socket> => {
  const path = `/api/workers/${String(presence.instance)}/connect`;
  const { socket, status } = await connect(path, { authorization: `Bearer ${key}` });
  if (socket === null) throw new Error(`no socket: ${status}`);
  await socket.next((message) => message.type === "welcome");
  socket.send({ type: "presence", id: "hello", ...presence });
  await socket.next((message) => message.type === "ack" && message.id === "hello");
  return socket;
};
