// The WebSockets of workers and dashboards of a whole self-hosted server: many of them, several tenants, and the death
// of the process behind them.

import { once } from "node:events";
import { request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import WebSocket from "ws";
import { filesBelow } from "../../self-host/files-below.ts";
import { killChild } from "../support/child-processes.ts";
import { type Answer, send } from "../support/requests.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";

const ROOT_KEY = "root-key-of-the-sockets-0123456789";
const MANY = 300;

const data = folderForAllTests();
let server: SelfHosted;

beforeAll(async () => {
  server = await startSelfHosted(data.path, { env: { SERVICE_ROOT_KEY: ROOT_KEY } });
}, 60_000);
afterAll(async () => {
  await server.kill();
});

const call = (key: string, method: string, route: string, body?: unknown): Promise<Answer> =>
  send({ url: server.url, key }, method, route, body);

class Client {
  readonly #socket: WebSocket;
  readonly messages: Record<string, unknown>[] = [];
  readonly closed: Promise<number>;

  constructor(key: string, route: string) {
    this.#socket = new WebSocket(`${server.url.replace("http", "ws")}${route}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    this.#socket.on("error", () => undefined);
    this.#socket.on("message", (frame) => this.messages.push(...[JSON.parse(String(frame))].flat()));
    this.closed = new Promise((resolve) => this.#socket.on("close", resolve));
  }

  get opened(): Promise<unknown> {
    return once(this.#socket, "open");
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  say(message: unknown): void {
    this.#socket.send(JSON.stringify(message));
  }

  hears(part: Record<string, unknown>): Promise<void> {
    return expect.poll(() => this.messages).toContainEqual(expect.objectContaining(part)) as unknown as Promise<void>;
  }

  leave(): void {
    this.#socket.terminate();
  }
}

const worker = async (key: string, instance: string): Promise<Client> => {
  const client = new Client(key, `/api/workers/${instance}/connect`);
  await client.hears({ type: "welcome" });
  client.say({ type: "presence", id: "hello", instance, provider: "p", tags: "", concurrency: 5 });
  await client.hears({ type: "ack", id: "hello", ok: true });
  return client;
};

test("a tenant's data lines share one object, and each is its own worker's", async () => {
  const key = server.adminKey;
  const relays = (): string[] =>
    filesBelow(data.path).filter(
      (file) => /signalbox-Relay.*\.sqlite$/.test(file) && !file.endsWith("metadata.sqlite"),
    );
  const before = relays().length;
  const open = async (instance: string): Promise<Client> => {
    await call(key, "POST", "/presence", { instance, provider: "p", status: "idle", tags: "" });
    const line = new Client(key, `/api/workers/${instance}/stream`);
    await line.opened;
    return line;
  };
  const [first, other] = [await open("line-a"), await open("line-b")];
  const second = await open("line-a");
  expect(await first.closed).toBe(4409);
  expect([second.isOpen, other.isOpen]).toEqual([true, true]);
  expect(relays().length - before).toBe(1);
  second.leave();
  other.leave();
});

test("many workers that connect at once are all welcomed, and all hear of a halt", async () => {
  const key = server.adminKey;
  const workers = await Promise.all(Array.from({ length: MANY }, (_, index) => worker(key, `many-${index}`)));
  expect((await call(key, "POST", "/killswitch", { level: 1, reason: "drill" })).status).toBe(200);
  for (const one of workers) await one.hears({ type: "killswitch" });
  expect((await call(key, "DELETE", "/killswitch")).status).toBe(200);
  for (const one of workers) one.leave();
  const connected = async () => {
    const { body } = await call(key, "GET", "/api/workers?limit=200");
    return (body.workers as { connected: boolean }[]).filter((one) => one.connected).length;
  };
  await expect.poll(connected).toBe(0);
}, 60_000);

test("the sockets of two tenants are apart, also under the same names and with the same numbers", async () => {
  const keys: string[] = [];
  for (const tenant of ["first", "second"])
    keys.push(String((await call(ROOT_KEY, "POST", "/admin/tenants", { tenant })).body.admin_key));
  const workers = await Promise.all(keys.map((key) => worker(key, "same")));
  for (const [index, key] of keys.entries()) await call(key, "POST", "/api/jobs", { prompt: `of ${index}` });
  for (const [index, one] of workers.entries()) {
    const prompts = () =>
      one.messages.filter(({ type }) => type === "job.assigned").map(({ job }) => (job as { prompt: string }).prompt);
    await expect.poll(prompts).toEqual([`of ${index}`]);
  }
  expect((await call(ROOT_KEY, "DELETE", "/admin/tenants/first")).status).toBeLessThan(300);
  expect(await workers[0]?.closed).toBe(4401);
  await call(keys[1] ?? "", "POST", "/api/workers/same/pause", { reason: "still there" });
  await workers[1]?.hears({ type: "worker.paused" });
}, 60_000);

test("who asks for the headers of a stream alone is no reader of it", async () => {
  const headers = { authorization: `Bearer ${server.adminKey}` };
  const reading = await worker(server.adminKey, "read");
  const { body: job } = await call(server.adminKey, "POST", "/dispatch", { prompt: "x", stream: true });
  const ask = (method: string) => fetch(`${server.url}/api/jobs/${job.id}/stream`, { method, headers });
  for (let at = 0; at < 20; at += 1) await expect.poll(async () => (await ask("HEAD")).status).toBe(200);
  const read = await ask("GET");
  expect(read.status).toBe(200);
  await read.body?.cancel();
  await call(server.adminKey, "POST", `/api/jobs/${job.id}/cancel`);
  reading.leave();
}, 60_000);

test.each(["GET", "HEAD"])(
  "who has left a stored response's stream is no reader of it: %s",
  async (method) => {
    const headers = { authorization: `Bearer ${server.adminKey}` };
    const presence = { instance: `told-${method}`, status: "online", tags: "", provider: "told", apis: ["responses"] };
    await call(server.adminKey, "POST", "/presence", { ...presence, models: [presence.instance] });
    const asking = { model: presence.instance, input: "x", background: true, stream: true };
    const asked = await fetch(`${server.url}/v1/responses`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(asking),
    });
    const job = asked.headers.get("x-signalbox-job") ?? "";
    await asked.body?.cancel();
    const { body: claimed } = await call(server.adminKey, "POST", `/api/workers/${presence.instance}/claim?wait=5`);
    const { lease } = claimed.jobs[0];
    await call(server.adminKey, "POST", `/api/jobs/${job}/start`, { lease });
    const event = { type: "response.output_text.delta", sequence_number: 1, delta: "a" };
    await fetch(`${server.url}/api/jobs/${job}/stream?lease=${lease}`, {
      method: "POST",
      headers: { ...headers, "content-type": "text/event-stream" },
      body: `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
    });
    const path = `${server.url}/v1/responses/resp_${job}?stream=true`;
    for (let at = 0; at < 20; at += 1) {
      const leaving = new AbortController();
      const read = await fetch(path, { method, headers, signal: leaving.signal });
      expect(read.status).toBe(200);
      await read.body?.getReader().read();
      leaving.abort();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await call(server.adminKey, "POST", `/api/jobs/${job}/cancel`);
  },
  60_000,
);

test("the death of the tenants' process ends every socket at once, and a worker that comes back has its job", async () => {
  const key = server.adminKey;
  const [first, viewer] = [await worker(key, "back"), new Client(key, "/live")];
  await viewer.hears({ type: "snapshot" });
  const { body: job } = await call(key, "POST", "/dispatch", { prompt: "survives" });
  await first.hears({ type: "job.assigned" });
  expect(killChild(data.path, "serving")).toBe(true);
  expect([await first.closed, await viewer.closed]).toEqual([1006, 1006]);
  // Requests and connections are refused with 503 until the process is back.
  await expect.poll(async () => (await call(key, "GET", "/presence")).status).toBe(200);
  const again = await worker(key, "back");
  await again.hears({ type: "job.assigned", job: expect.objectContaining({ id: job.id, lease: 1 }) });
  again.say({ type: "job.completed", id: "done", job_id: job.id, lease: 1, result: "yes" });
  await again.hears({ type: "ack", id: "done", ok: true });
  expect((await call(key, "GET", `/api/jobs/${job.id}`)).body).toMatchObject({ status: "completed" });
}, 60_000);

test("a malformed handshake is refused as a problem, and leaves the worker's socket alone", async () => {
  const key = server.adminKey;
  const live = await worker(key, "steady");
  const wellFormed = {
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-protocol": "a",
  };
  for (const flaw of [
    { "sec-websocket-version": "12" },
    { "sec-websocket-key": "dGhlIHNhbXBsZQ==" },
    { "sec-websocket-protocol": "a,,b" },
  ]) {
    const headers = { authorization: `Bearer ${key}`, upgrade: "websocket", connection: "upgrade", ...wellFormed };
    for (const line of ["connect", "stream"]) {
      const asked = request(`${server.url}/api/workers/steady/${line}`, { headers: { ...headers, ...flaw } }).end();
      const [answer] = await once(asked, "response");
      expect([answer.statusCode, answer.headers["content-type"]]).toEqual([400, "application/problem+json"]);
    }
  }
  await call(key, "POST", "/api/workers/steady/pause", { reason: "still there" });
  await live.hears({ type: "worker.paused", reason: "still there" });
  live.leave();
});

test("a request that names a WebSocket but asks for no upgrade is refused, and opens nothing", async () => {
  const headers = { authorization: `Bearer ${server.adminKey}`, upgrade: "websocket", connection: "close" };
  const asked = request(`${server.url}/api/workers/plain/connect`, { headers }).end();
  const [answer] = await once(asked, "response");
  expect(answer.statusCode).toBe(426);
  answer.resume();
});
