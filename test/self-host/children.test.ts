// What an operator relies on when a process of the server dies: the server survives, says what is down, and continues
// with everything that was acknowledged.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { request } from "node:http";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import WebSocket from "ws";
import { shareOf } from "../../domain/tenant/share.ts";
import { childProcesses, killChild, killServing } from "../support/child-processes.ts";
import { SIGNALBOX } from "../support/command-line.ts";
import { send } from "../support/requests.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const ROOT_KEY = "root-key-of-the-children-0123456789";

const data = folderForEachTest();
let server: SelfHosted | null = null;

afterEach(async () => {
  await server?.kill();
  server = null;
});

const call = async (key: string, method: string, route: string, body?: unknown) => {
  const answer = await send({ url: server?.url ?? "", key }, method, route, body);
  return { ...answer, retryAfter: answer.headers.get("retry-after") };
};

const worker = { instance: "w", provider: "p", status: "online", tags: "", concurrency: 100 };

test.each(["node", "workerd"])(
  "with the history's process gone, work goes on and reads of history say so; it comes back by itself (edge in %s)",
  async (edge) => {
    server = await startSelfHosted(data.path, { args: ["--no-worker", "--edge", edge] });
    const key = server.adminKey;
    await call(key, "POST", "/presence", worker);
    expect(killChild(data.path, "history")).toBe(true);
    const dispatched = await call(key, "POST", "/dispatch", { prompt: "goes on" });
    expect(dispatched).toMatchObject({ status: 200, body: { assigned_worker: "w" } });
    const health = await call(key, "GET", "/health");
    expect(health).toMatchObject({ status: 200, body: { status: "ok" } });
    await expect.poll(async () => (await call(key, "GET", "/api/jobs")).status).toBe(200);
    expect((await call(key, "GET", "/api/jobs")).body).toMatchObject({ total: 1 });
    expect(server.output()).toContain("The history process was ended by SIGKILL");
  },
  60_000,
);

test("with the history's process frozen, a read is refused within seconds, work goes on, and all is there once it runs again", async () => {
  server = await startSelfHosted(data.path, { args: ["--no-worker"] });
  const key = server.adminKey;
  await call(key, "POST", "/presence", worker);
  expect((await call(key, "GET", "/api/jobs")).status).toBe(200);
  const history = childProcesses(data.path).find(({ name }) => name === "history");
  const signal = (name: NodeJS.Signals) => process.kill(history?.pid ?? 0, name);
  signal("SIGSTOP");
  try {
    const startedAt = Date.now();
    const [nothingNew, refused] = await Promise.all([
      call(key, "GET", "/api/cost"),
      call(key, "POST", "/dispatch", { prompt: "goes on" }).then(async (dispatched) => {
        expect(dispatched).toMatchObject({ status: 200, body: { assigned_worker: "w" } });
        return call(key, "GET", "/api/jobs");
      }),
    ]);
    for (const one of [nothingNew, refused])
      expect(one).toMatchObject({ status: 503, body: { code: "history_unavailable" }, retryAfter: "5" });
    expect(Date.now() - startedAt).toBeLessThan(25_000);
  } finally {
    signal("SIGCONT");
  }
  await expect.poll(async () => (await call(key, "GET", "/api/jobs")).body.total).toBe(1);
}, 90_000);

test("with the tenants' process gone, requests are 503 with Retry-After and /health tells the truth, until it is back", async () => {
  server = await startSelfHosted(data.path);
  const key = server.adminKey;
  const made = await call(key, "POST", "/api/jobs", { prompt: "stays" });
  const seen: Awaited<ReturnType<typeof call>>[] = [];
  for (let kills = 0; kills < 3; kills += 1) {
    expect(killChild(data.path, "serving")).toBe(true);
    for (let looks = 0; looks < 400; looks += 1) {
      const [job, health] = [await call(key, "GET", `/api/jobs/${made.body.id}`), await call(key, "GET", "/health")];
      seen.push(job, health);
      if (job.status === 200 && health.status === 200) break;
    }
  }
  expect(new Set(seen.map(({ status }) => status))).toEqual(new Set([200, 503]));
  const refused = seen.filter(({ status }) => status === 503);
  expect(refused.filter(({ retryAfter }) => retryAfter === null)).toEqual([]);
  const codes = new Set(refused.map(({ body }) => body.code ?? body.status));
  expect([...codes].sort()).toEqual(["starting", "tenant_unavailable"]);
  expect(await server.stop()).toBe(0);
  server = null;
}, 60_000);

test("with Node itself gone, all is started again on the same port, with what was acknowledged; then it stops in order", async () => {
  server = await startSelfHosted(data.path);
  const key = server.adminKey;
  const { id } = (await call(key, "POST", "/api/jobs", { prompt: "stays" })).body;
  for (let kills = 0; kills < 2; kills += 1) {
    expect(killServing(data.path)).toBe(true);
    const status = () =>
      call(key, "GET", `/api/jobs/${id}`).then(
        (answer) => answer.status,
        () => "gone",
      );
    await expect.poll(status, { timeout: 30_000 }).toBe(200);
  }
  expect(server.output()).toContain("The serving process was ended by SIGKILL; it is started again.");
  expect(await server.stop()).toBe(0);
  expect(childProcesses(data.path)).toEqual([]);
  server = null;
}, 90_000);

test("a start that fails is not tried again", async () => {
  await expect(startSelfHosted(data.path, { env: { SERVICE_HOST: "192.0.2.1" } })).rejects.toThrow(
    "did not become ready",
  );
});

test("a start that fails when its processes are up ends, and they do", async () => {
  mkdirSync(path.join(data.path, "freeze.path"));
  await expect(startSelfHosted(data.path)).rejects.toThrow("EISDIR");
  await expect.poll(() => childProcesses(data.path)).toEqual([]);
}, 90_000);

/** Its text so far; it speaks for eight seconds. */
const openStream = async (api: string): Promise<() => { text: string; end: "open" | "whole" | "broken" }> => {
  const state = { text: "", end: "open" as "open" | "whole" | "broken" };
  const metadata = { delay_ms: "8000", chunks: "40" };
  const body = { model: "echo", stream: true, max_tokens: 9, metadata, messages: [{ role: "user", content: "a b c" }] };
  const headers = { authorization: `Bearer ${server?.adminKey}`, "content-type": "application/json" };
  const answer = await fetch(`${server?.url}/v1/${api}`, { method: "POST", headers, body: JSON.stringify(body) });
  const read = async (): Promise<void> => {
    for await (const bytes of answer.body ?? []) state.text += Buffer.from(bytes).toString();
  };
  read().then(
    () => {
      state.end = "whole";
    },
    () => {
      state.end = "broken";
    },
  );
  return () => state;
};

test("a stream whose process dies, or whose server stops, ends with an error event, and its job fails with it", async () => {
  server = await startSelfHosted(data.path);
  const { url: SERVICE_API_URL, adminKey: SERVICE_API_KEY } = server;
  const env = { ...process.env, SERVICE_API_URL, SERVICE_API_KEY };
  const args = ["--runtime", "echo", "--instance", "speaks", "--concurrency", "4"];
  const speaker = spawn(process.execPath, [SIGNALBOX, "worker", ...args], { env, stdio: "ignore" });
  const isThere = async () => {
    const { body } = await call(SERVICE_API_KEY, "GET", "/presence");
    expect(body.workers).toMatchObject([{ connected: true }]);
  };
  const lost = { chat: /"code":"stream_lost"\}\}\n\n$/, messages: /event: error\ndata: .*broke off.*\n\n$/ };
  const end = async (how: () => unknown) => {
    await expect.poll(isThere).toBeUndefined();
    const [chat, messages] = [await openStream("chat/completions"), await openStream("messages")];
    await how();
    await expect.poll(() => [chat().end, messages().end]).toEqual(["whole", "whole"]);
    expect(chat().text).toMatch(lost.chat);
    expect(messages().text).toMatch(lost.messages);
  };
  try {
    await end(() => killChild(data.path, "serving"));
    await expect.poll(isThere).toBeUndefined();
    const { id } = (await call(SERVICE_API_KEY, "POST", "/api/jobs", { prompt: "waits", tags: ["none"] })).body;
    const waiting = call(SERVICE_API_KEY, "GET", `/api/jobs/${id}?wait=25`);
    // It has arrived before the streams that begin now.
    await end(() => void server?.stop());
    expect(await waiting).toMatchObject({ status: 503, body: { code: "tenant_unavailable" } });
    await server.stop();
    server = await startSelfHosted(data.path);
    const { jobs } = (await call(SERVICE_API_KEY, "GET", "/api/jobs?status=failed&error_code=stream_lost")).body;
    expect(jobs).toHaveLength(4);
  } finally {
    speaker.kill();
  }
}, 60_000);

test("what creates is never repeated on a broken connection: each key creates once, whatever died meanwhile", async () => {
  server = await startSelfHosted(data.path);
  const key = server.adminKey;
  const client = async (name: number): Promise<number> => {
    let created = 0;
    for (let count = 0; count < 60; count += 1) {
      const { status } = await call(key, "POST", "/api/jobs", {
        prompt: `job ${name}-${count}`,
        tags: [`from-${name}`],
      });
      if (status === 201) created += 1;
      else expect(status).toBe(503);
    }
    return created;
  };
  const clients = Promise.all([0, 1, 2, 3].map(client));
  for (let kills = 0; kills < 3; kills += 1) {
    await new Promise((resolve) => setTimeout(resolve, 150));
    killChild(data.path, "serving");
  }
  const created = (await clients).reduce((sum, one) => sum + one, 0);
  await expect.poll(async () => (await call(key, "GET", "/health")).status).toBe(200);
  const listed = async () =>
    (await call(key, "GET", "/api/jobs?limit=200")).body as { jobs: { prompt: string }[]; total: number };
  await expect.poll(async () => (await call(key, "GET", "/api/jobs")).status).toBe(200);
  const { jobs, total } = await listed();
  expect(total).toBeGreaterThanOrEqual(created);
  expect(new Set(jobs.map(({ prompt }) => prompt)).size).toBe(jobs.length);
}, 60_000);

test("tenants are spread over processes, each with its sockets, its crons and its data after a restart", async () => {
  const env = { SERVICE_PROCESSES: "2", SERVICE_ROOT_KEY: ROOT_KEY };
  server = await startSelfHosted(data.path, { env });
  const names = ["alpha", "bravo", "charlie", "delta"];
  expect(new Set(names.map((name) => shareOf(name, 2)))).toEqual(new Set([0, 1]));
  const keys = new Map<string, string>();
  for (const tenant of names) {
    const made = await call(ROOT_KEY, "POST", "/admin/tenants", { tenant });
    expect(made.status).toBe(201);
    keys.set(tenant, String(made.body.admin_key));
  }
  for (const [tenant, key] of keys) {
    await call(key, "POST", "/api/jobs", { prompt: `of ${tenant}` });
    expect((await call(key, "GET", "/catalog/subscriptions")).status).toBe(200);
    expect(await firstFrame(`${server.url}/live`, key)).toMatchObject({ type: "snapshot" });
  }
  expect(
    childProcesses(data.path)
      .map(({ name }) => name)
      .sort(),
  ).toEqual(["history", "serving", "serving-1"]);
  const objects = (folder: string) => readdirSync(path.join(data.path, "state", folder, "signalbox-Tenant")).length;
  expect(objects("objects")).toBeGreaterThan(0);
  expect(objects("objects-1")).toBeGreaterThan(0);
  expect(await server.stop()).toBe(0);
  await expect(startSelfHosted(data.path, { env: { SERVICE_PROCESSES: "3" } })).rejects.toThrow(
    "was created for 2 object processes",
  );
  server = await startSelfHosted(data.path);
  for (const [tenant, key] of keys) {
    const { body } = await call(key, "GET", "/api/jobs");
    expect(body).toMatchObject({ total: 1, jobs: [{ prompt: `of ${tenant}` }] });
  }
}, 90_000);

const firstFrame = (url: string, key: string): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(url.replace("http", "ws"), { headers: { authorization: `Bearer ${key}` } });
    socket.once("error", reject);
    socket.once("message", (frame) => {
      resolve(JSON.parse(String(frame)));
      socket.close();
    });
  });

/** A request to one of the private sockets. */
const privately = (socket: string, route: string, authorization: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const asked = request(
      { socketPath: socket, path: route, method: "POST", headers: { authorization }, agent: false },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      },
    );
    asked.on("error", reject);
    asked.end("[]");
  });

test("the private door opens to nobody without its secret, and its folder to nobody else", async () => {
  server = await startSelfHosted(data.path);
  const folder = path.join(data.path, "run");
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  const door = path.join(folder, "door-0.sock");
  for (const secret of ["", "undefined", "Bearer", server.adminKey]) {
    expect(await privately(door, "/TENANT/default", secret)).toBe(404);
  }
  // The private connection has its own socket: the app's socket does not lead there.
  expect(await privately(path.join(folder, "edge-0.sock"), "/TENANT/default", "")).toBe(404);
}, 60_000);

test("SIGTERM ends the server only after its processes have ended", async () => {
  server = await startSelfHosted(data.path);
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/live`, {
    headers: { authorization: `Bearer ${server.adminKey}` },
  });
  await new Promise((resolve) => socket.once("message", resolve));
  socket.on("error", () => undefined);
  expect(childProcesses(data.path)).toHaveLength(2);
  expect(await server.stop()).toBe(0);
  expect(childProcesses(data.path)).toEqual([]);
  expect(existsSync(path.join(data.path, "run"))).toBe(false);
  server = null;
}, 60_000);
