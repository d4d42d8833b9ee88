// What a script that starts the service relies on: once GET /health is 200, the admin key exists and the local worker
// takes jobs, on the first start and every other; after an interrupted start the next one succeeds.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { send } from "../support/requests.ts";
import { freePort, type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const ROOT_KEY = "root-key-of-the-first-start-0123456789";
const READY_WITHIN_MS = 60_000;
const POLL_MS = 5;
/** Nothing listens there, so the worker ends as soon as it starts. */
const NO_RUNTIME = "http://127.0.0.1:1";

const data = folderForEachTest();
let server: SelfHosted | null = null;

afterEach(async () => {
  await server?.kill();
  server = null;
});

const adminKey = (): string => readFileSync(path.join(data.path, "default.admin.key"), "utf8").trim();

const call = (url: string, key: string, method: string, route: string, body?: unknown) =>
  send({ url, key }, method, route, body);

/** Polls from before anything listens until the answer is 200; returns the statuses and bodies. */
const untilHealthy = async (url: string): Promise<{ status: number; body: unknown }[]> => {
  const seen: { status: number; body: unknown }[] = [];
  for (const startedAt = Date.now(); Date.now() - startedAt < READY_WITHIN_MS; await pause(POLL_MS)) {
    const answer = await fetch(`${url}/health`).catch(() => null);
    if (answer === null) continue;
    seen.push({ status: answer.status, body: await answer.json() });
    if (answer.status === 200) return seen;
  }
  throw new Error(`${url} did not become healthy`);
};

/** Starts the server; `atOnce` runs as soon as it is healthy, before its output is awaited. */
const start = async <T>(args: string[], env: Record<string, string>, atOnce: (url: string) => Promise<T>) => {
  const port = await freePort();
  const starting = startSelfHosted(data.path, { args, env: { ...env, PORT: String(port) } });
  const url = `http://127.0.0.1:${port}`;
  const watching = untilHealthy(url).then(async (seen) => ({ url, seen, result: await atOnce(url) }));
  const [started, watched] = await Promise.all([starting, watching]);
  server = started;
  return watched;
};

const dispatch = (url: string) => call(url, adminKey(), "POST", "/dispatch", { prompt: "hello" });

test("the first dispatch is taken the moment that the service is healthy, on the first start and on the next", async () => {
  for (const _ of ["first", "next"]) {
    const { url, seen, result } = await start([], { SERVICE_RUNTIME_URL: "" }, dispatch);
    expect(result).toMatchObject({ status: 200, body: { assigned_worker: expect.stringMatching(/^local-/) } });
    const before = seen.slice(0, -1);
    const starting = { status: 503, body: { status: "starting", version: expect.any(String) } };
    expect(before).toEqual(before.map(() => starting));
    const done = await call(url, adminKey(), "GET", `/api/jobs/${result.body.id}?wait=20`);
    expect(done.body).toMatchObject({ status: "completed" });
    expect(await server?.stop()).toBe(0);
  }
}, 120_000);

test("without a worker there is nothing to wait for, and a later start may still have one", async () => {
  const without = await start(["--no-worker"], {}, dispatch);
  const { body: config } = await call(without.url, adminKey(), "GET", "/config");
  expect(config.history).toEqual({ keep_days: null, keep_texts_days: null });
  expect(without.seen.map(({ status }) => status)).toEqual([200]);
  expect(without.result).toMatchObject({ status: 503, body: { title: "No eligible workers" } });
  expect(existsSync(path.join(data.path, "default.worker.key"))).toBe(false);
  expect(await server?.stop()).toBe(0);
  const withOne = await start([], { SERVICE_RUNTIME_URL: "" }, dispatch);
  expect(withOne.result.status).toBe(200);
}, 120_000);

test("a worker that cannot start keeps nobody out for long", async () => {
  const { seen, result } = await start([], { SERVICE_RUNTIME_URL: NO_RUNTIME }, (url) =>
    call(url, adminKey(), "POST", "/api/jobs", { prompt: "hello" }),
  );
  expect(seen[0]?.status).toBe(503);
  expect(result.status).toBe(201);
}, 120_000);

test("a local worker whose key has ended is not started again and again, and gets a new one once its file is gone", async () => {
  const ownKey = path.join(data.path, "default.worker.key");
  await start([], { SERVICE_RUNTIME_URL: "" }, async (url) => {
    const { body } = await call(url, adminKey(), "GET", "/api/keys");
    const own = body.keys.find(({ name }: { name: string }) => name === "local worker");
    expect((await call(url, adminKey(), "DELETE", `/api/keys/${own.id}`)).status).toBe(204);
  });
  await expect.poll(() => server?.output(), { timeout: 15_000 }).toContain(`its key has ended. Remove ${ownKey}`);
  expect(server?.output()).not.toContain("starting it again");
  expect(await server?.stop()).toBe(0);
  rmSync(ownKey);
  const { result } = await start([], { SERVICE_RUNTIME_URL: "" }, dispatch);
  expect(result.status).toBe(200);
}, 120_000);

test("an admin key that has ended is told of at the start", async () => {
  /** What stands behind the key's place, which is told after the address. */
  const told = async (): Promise<string | undefined> => {
    const line = /default\.admin\.key(.*)\n/;
    await expect.poll(() => server?.output()).toMatch(line);
    return line.exec(server?.output() ?? "")?.[1];
  };
  const { url } = await start(["--no-worker"], {}, async () => undefined);
  expect(await told()).toBe("");
  const { body: kept } = await call(url, adminKey(), "GET", "/api/keys");
  const { body: rotated } = await call(url, adminKey(), "POST", `/api/keys/${kept.keys[0].id}/rotate`, {});
  expect(await server?.stop()).toBe(0);
  await start(["--no-worker"], {}, async () => undefined);
  expect(await told()).toBe(" (it has ended)");
  writeFileSync(path.join(data.path, "default.admin.key"), rotated.key);
  expect(await server?.stop()).toBe(0);
  await start(["--no-worker"], {}, async () => undefined);
  expect(await told()).toBe("");
}, 120_000);

test("a first start that was killed after the tenant was made, and before its key was kept, is begun again", async () => {
  await start(["--no-worker"], {}, dispatch);
  await server?.kill();
  rmSync(path.join(data.path, "default.admin.key"));
  writeFileSync(path.join(data.path, "first-start"), "");

  const again = await start(
    ["--no-worker"],
    {},
    async (url) => (await call(url, adminKey(), "GET", "/presence")).status,
  );
  expect(again.result).toBe(200);
  expect(existsSync(path.join(data.path, "first-start"))).toBe(false);
}, 120_000);

test("a key that was lost later is asked for, and nothing is begun again", async () => {
  await start(["--no-worker"], {}, dispatch);
  await server?.kill();
  server = null;
  rmSync(path.join(data.path, "default.admin.key"));
  await expect(startSelfHosted(data.path)).rejects.toThrow("its admin key is not in");
  expect(existsSync(path.join(data.path, "state"))).toBe(true);
}, 120_000);

test("a tenant of any jurisdiction is made, keeps its name for itself, and is there after a restart", async () => {
  const env = { SERVICE_ROOT_KEY: ROOT_KEY };
  const made = await start(["--no-worker"], env, (url) =>
    call(url, ROOT_KEY, "POST", "/admin/tenants", { tenant: "europe", jurisdiction: "eu" }),
  );
  expect(made.result.status).toBe(201);
  const { admin_key: key } = made.result.body;
  expect(key).toMatch(/^sbx_a-eu_europe_/);
  expect((await call(made.url, ROOT_KEY, "POST", "/admin/tenants", { tenant: "europe" })).status).toBe(409);
  const { body: job } = await call(made.url, key, "POST", "/api/jobs", { prompt: "stay here" });
  await server?.kill();

  const again = await start(["--no-worker"], env, (url) => call(url, key, "GET", `/api/jobs/${job.id}`));
  expect(again.result.status).toBe(200);
  const listed = await call(again.url, key, "GET", "/api/jobs");
  expect(listed.body).toMatchObject({ total: 1 });
}, 120_000);

test("a provider file that cannot be used ends the start, by its name and with what to change", async () => {
  const folder = path.join(data.path, "providers");
  mkdirSync(folder);
  const file = 'provider: mine\nlist_url: http://127.0.0.1:9/models\nresponse_path: "data[]"\nfields: { id: id }\n';
  writeFileSync(path.join(folder, "mine.yaml"), file);
  const env = { SERVICE_CATALOG_DIR: folder };
  await expect(startSelfHosted(data.path, { env })).rejects.toThrow(
    /mine\.yaml:2: list_url: must begin with https:\/\/\nA runtime with plain http.*needs `local: true`/,
  );
  writeFileSync(path.join(folder, "mine.yaml"), `${file}local: true\n`);
  const { result } = await start(["--no-worker"], env, (url) => call(url, adminKey(), "GET", "/catalog/providers"));
  const { providers } = result.body;
  expect(providers.map(({ provider }: { provider: string }) => provider)).toContain("mine");
}, 120_000);
