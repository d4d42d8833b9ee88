// A tenant moves to another deployment with everything it has, and the old one names the new address.

import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { moveTenant } from "../../cli/move-tenant.ts";
import { Signalbox } from "../../sdk/signalbox.ts";
import { SIGNALBOX } from "../support/command-line.ts";
import { eventually } from "../support/eventually.ts";
import { type Body, send } from "../support/requests.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const run = promisify(execFile);

const folder = folderForAllTests();
let source: SelfHosted;
let target: SelfHosted;

const secretOf = (dataDir: string, name: string): string =>
  readFileSync(path.join(folder.path, dataDir, name), "utf8").trim();

beforeAll(async () => {
  source = await startSelfHosted(path.join(folder.path, "source"));
  const also = secretOf("source", "signing.secret");
  target = await startSelfHosted(path.join(folder.path, "target"), { env: { SERVICE_SIGNING_SECRET_ALSO: also } });
}, 120_000);

afterAll(async () => {
  await Promise.all([source.kill(), target.kill()]);
});

const call = ({ url }: SelfHosted, key: string, method: string, route: string, body?: unknown) =>
  send({ url, key }, method, route, body);

const moveFrom = (url: string, [here, there]: readonly [string, string], args: readonly string[]) =>
  run(process.execPath, [SIGNALBOX, "move", ...args], {
    cwd: ROOT,
    env: {
      ...process.env,
      SERVICE_API_URL: url,
      SERVICE_ROOT_KEY: secretOf(here, "root.key"),
      SERVICE_TARGET_ROOT_KEY: secretOf(there, "root.key"),
    },
  });
const move = (...args: string[]) => moveFrom(source.url, ["source", "target"], args);

const makeTenant = async (name: string): Promise<string> => {
  const made = await call(source, secretOf("source", "root.key"), "POST", "/admin/tenants", { tenant: name });
  expect(made.status).toBe(201);
  return made.body.admin_key;
};

test("keys, config, schedules, open jobs, history and cost are there, and work goes on", async () => {
  const key = await makeTenant("acme");
  const here = (method: string, route: string, body?: unknown) => call(source, key, method, route, body);
  const there = (method: string, route: string, body?: unknown) => call(target, key, method, route, body);
  const worker = { instance: "w", provider: "p", status: "online", tags: "eu", concurrency: 5 };
  await here("POST", "/presence", worker);
  await here("PUT", "/config", { jobs: { max_attempts: 7 } });
  await here("POST", "/api/schedules", { name: "nightly", cron: "0 3 * * *", prompt: "report" });
  const hook = await here("POST", "/api/webhooks", { url: "https://hooks.example.com/", events: ["job.completed"] });
  expect(hook.status).toBe(201);
  const done = (await here("POST", "/dispatch", { prompt: "a finished quince", tags: ["eu"] })).body;
  await here("POST", `/api/jobs/${done.id}/complete`, { lease: done.lease, result: "a result", cost_usd: 0.5 });
  const running = (await here("POST", "/dispatch", { prompt: "under way" })).body;
  const waiting = (await here("POST", "/api/jobs", { prompt: "waits", tags: ["none-has-it"] })).body;

  const owner = new Signalbox({ url: source.url, key });
  const bytes = Buffer.alloc(3 * 1024 * 1024 + 7, "file");
  const file = await owner.files.create(new Blob([bytes]), { name: "a.bin", purpose: "batch" });
  const empty = await owner.files.create(new Blob([]), { name: "empty" });
  const small = await owner.files.create(new Blob(["small"]), { name: "small" });

  const { stdout } = await move("acme", "--to", target.url);
  expect(stdout).toContain("jobs");
  // A repeated move says only what is true: nothing is stopped any more.
  expect((await move("acme", "--to", target.url)).stderr).not.toContain("stopped");

  const left = await here("GET", `/api/jobs/${done.id}`);
  expect([left.status, left.body.code]).toEqual([410, "tenant_moved"]);
  expect(left.body.detail).toContain(target.url);

  expect((await there("GET", `/api/jobs/${done.id}`)).body).toMatchObject({
    status: "completed",
    prompt: "a finished quince",
    result: "a result",
    cost_usd: 0.5,
  });
  expect((await there("GET", "/api/jobs?q=quince&tag=eu")).body.jobs.map(({ id }: Body) => id)).toEqual([done.id]);
  expect((await there("GET", "/api/cost")).body).toMatchObject({ total_usd: 0.5, jobs: 1 });
  expect((await there("GET", "/config")).body.jobs.max_attempts).toBe(7);
  expect((await there("GET", "/api/schedules/nightly")).body.cron).toBe("0 3 * * *");
  expect((await there("GET", "/api/webhooks")).body.webhooks).toHaveLength(1);
  expect((await there("GET", `/api/jobs/${waiting.id}`)).body.status).toBe("pending");
  expect((await there("GET", "/killswitch")).body.active).toBe(false);
  const moved = new Signalbox({ url: target.url, key }).files;
  expect(await moved.get(file.id)).toEqual(file);
  const content = await moved.content(file.id);
  expect(Buffer.from(await content.arrayBuffer()).equals(bytes)).toBe(true);
  expect(await (await moved.content(empty.id)).text()).toBe("");
  expect(await (await moved.content(small.id)).text()).toBe("small");

  await there("POST", "/presence", { ...worker, jobs: [] });
  const claimed = (await there("POST", "/api/workers/w/claim", { max: 5 })).body.jobs;
  expect(claimed.map(({ id }: Body) => id)).toEqual([running.id]);
  const report = { lease: claimed[0].lease, result: "there" };
  expect((await there("POST", `/api/jobs/${running.id}/complete`, report)).status).toBe(200);
  expect((await there("GET", "/api/jobs?status=completed")).body.total).toBe(2);
}, 120_000);

test("a move that cannot arrive is given up, and the tenant is served where it was", async () => {
  const key = await makeTenant("beta");
  const job = (await call(source, key, "POST", "/api/jobs", { prompt: "kept" })).body;
  const taken = await call(target, secretOf("target", "root.key"), "POST", "/admin/tenants", { tenant: "beta" });
  expect(taken.status).toBe(201);
  await expect(move("beta", "--to", target.url)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining("--give-up"),
  });
  expect((await call(source, key, "GET", `/api/jobs/${job.id}`)).status).toBe(503);
  await move("beta", "--give-up");
  expect((await call(source, key, "GET", `/api/jobs/${job.id}`)).body).toMatchObject({
    prompt: "kept",
    status: "pending",
  });
  expect((await call(source, key, "GET", "/killswitch")).body.active).toBe(false);
}, 60_000);

test("a target of another release, or one that refuses the key, stops nothing here", async () => {
  const key = await makeTenant("gamma");
  const answers: Body = { "/health": { status: "ok", version: "99.0.0" }, "/admin/tenants": { tenants: [] } };
  const newer = createServer((request, response) => {
    response.setHeader("content-type", "application/json").end(JSON.stringify(answers[request.url ?? ""]));
  }).listen(0, "127.0.0.1");
  await once(newer, "listening");
  const { port } = newer.address() as AddressInfo;
  await expect(move("gamma", "--to", `http://127.0.0.1:${port}`)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining("99.0.0 there: both deployments must run the same release"),
  });
  newer.close();
  const mistaken = moveFrom(source.url, ["source", "source"], ["gamma", "--to", target.url]);
  await expect(mistaken).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("authentication_failed") });
  expect((await call(source, key, "GET", "/killswitch")).status).toBe(200);
}, 60_000);

test("a tenant moves back once what it left has been deleted; until then the command says so", async () => {
  const key = await makeTenant("boomerang");
  const job = (await call(source, key, "POST", "/api/jobs", { prompt: "there and back" })).body;
  await move("boomerang", "--to", target.url);
  const back = () => moveFrom(target.url, ["target", "source"], ["boomerang", "--to", source.url]);
  await expect(back()).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("first delete what it left") });
  const left = await call(source, secretOf("source", "root.key"), "DELETE", "/admin/tenants/boomerang");
  expect(left.status).toBe(204);
  await back();
  expect((await call(source, key, "GET", `/api/jobs/${job.id}`)).body.prompt).toBe("there and back");
}, 60_000);

const tenantsOf = ({ url }: SelfHosted, dataDir: string, fetch?: typeof globalThis.fetch) =>
  new Signalbox({ url, key: secretOf(dataDir, "root.key"), retries: 0, ...(fetch === undefined ? {} : { fetch }) })
    .tenants;

/** A step is its method and path; a table's part is a step of its own. */
const stepOf = (input: Parameters<typeof fetch>[0], init?: RequestInit): string => {
  const { pathname, searchParams } = new URL(String(input));
  const part = init?.method === "POST" && typeof init.body === "string" ? (JSON.parse(init.body) as Body) : {};
  const table = searchParams.get("table") ?? part.table ?? "";
  return `${init?.method ?? "GET"} ${pathname.split("/").slice(4).join("/")} ${table}`.trim();
};

/** The command dies at its `at`-th request: before it is sent, or before its answer is heard. */
const dyingAt = (at: number, isSent: boolean) => {
  const steps: string[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    steps.push(stepOf(input, init));
    if (steps.length < at) return globalThis.fetch(input, init);
    if (steps.length === at && isSent) await globalThis.fetch(input, init).then((answer) => answer.arrayBuffer());
    throw new Error("the command was killed");
  };
  return { steps, fetch };
};

const moveWith = (name: string, fetch?: typeof globalThis.fetch) =>
  moveTenant(
    {
      tenant: name,
      source: tenantsOf(source, "source", fetch),
      target: tenantsOf(target, "target", fetch),
      options: {},
    },
    target.url,
  );

/** A tenant with a finished and a waiting job, and whether the target has them. */
const tenantWithWork = async (name: string) => {
  const key = await makeTenant(name);
  const here = (method: string, route: string, body?: unknown) => call(source, key, method, route, body);
  await here("POST", "/presence", { instance: "w", provider: "p", status: "online", tags: "", concurrency: 5 });
  const done = (await here("POST", "/dispatch", { prompt: "done" })).body;
  await here("POST", `/api/jobs/${done.id}/complete`, { lease: done.lease, result: "r", cost_usd: 0.25 });
  const waiting = (await here("POST", "/api/jobs", { prompt: "waits", tags: ["none-has-it"] })).body;
  const expectThere = async (): Promise<void> => {
    const there = async (route: string) => (await call(target, key, "GET", route)).body;
    expect((await call(source, key, "GET", "/killswitch")).status).toBe(410);
    expect(await there(`/api/jobs/${done.id}`)).toMatchObject({ status: "completed", result: "r" });
    expect(await there(`/api/jobs/${waiting.id}`)).toMatchObject({ status: "pending", prompt: "waits" });
    expect(await there("/api/cost")).toMatchObject({ total_usd: 0.25, jobs: 1 });
    expect((await there("/api/jobs")).total).toBe(2);
    expect((await there("/api/audit?action=tenant.arrived")).entries).toHaveLength(1);
  };
  return { key, expectThere };
};

test("a move whose command is killed at any kind of step is completed by repeating it", async () => {
  const { steps, fetch } = dyingAt(Number.POSITIVE_INFINITY, false);
  await makeTenant("rehearsal");
  await moveWith("rehearsal", fetch);
  // Before it was sent, or before its answer was heard: for a read it is the same.
  const cuts = [
    ...["POST move", "POST arrive", "POST left", "POST arrived"].flatMap((step) => [
      { step, isSent: false },
      { step, isSent: true },
    ]),
    ...["GET rows jobs", "GET rows/digest jobs"].map((step) => ({ step, isSent: false })),
    ...["POST rows jobs", "POST rows cost_hours", "POST rows settings"].map((step) => ({ step, isSent: true })),
  ];
  for (const [index, { step, isSent }] of cuts.entries()) {
    expect(steps).toContain(step);
    const name = `cut-${index}`;
    const { expectThere } = await tenantWithWork(name);
    await expect(moveWith(name, dyingAt(steps.indexOf(step) + 1, isSent).fetch)).rejects.toThrow();
    await moveWith(name);
    await expectThere();
    // Everything is there already.
    if (step === "POST arrived") expect(await moveWith(name)).toEqual([]);
  }
}, 240_000);

test("a move goes on after both ends were killed in its middle and started again", async () => {
  const { expectThere } = await tenantWithWork("killed");
  await expect(moveWith("killed", dyingAt(30, true).fetch)).rejects.toThrow();
  await Promise.all([source.kill(), target.kill()]);
  source = await startSelfHosted(path.join(folder.path, "source"));
  target = await startSelfHosted(path.join(folder.path, "target"), {
    env: { SERVICE_SIGNING_SECRET_ALSO: secretOf("source", "signing.secret") },
  });
  // The target's address is another one now: the move to the former is cancelled.
  await tenantsOf(source, "source").stay("killed");
  await moveWith("killed");
  await expectThere();
}, 120_000);

test("a tenant whose rows differ at both ends does not leave, and is given up or moved again", async () => {
  const { key, expectThere } = await tenantWithWork("torn");
  const losing: typeof globalThis.fetch = (input, init) => {
    if (stepOf(input, init) !== "POST rows attempts") return globalThis.fetch(input, init);
    const part = JSON.parse(String(init?.body)) as Body;
    return globalThis.fetch(input, { ...init, body: JSON.stringify({ ...part, rows: part.rows.slice(1) }) });
  };
  await expect(moveWith("torn", losing)).rejects.toThrow(/history table attempts differ \(\d+ here, \d+ there/);
  for (const one of [source, target])
    expect((await call(one, key, "GET", "/killswitch")).body.code).toBe("tenant_unavailable");
  await move("torn", "--give-up");
  expect((await call(source, key, "GET", "/killswitch")).status).toBe(200);
  await moveWith("torn");
  await expectThere();
}, 60_000);

/** A batch of messages that has ended: a line was answered, one was refused, and one was cancelled. */
const endedBatch = async (key: string): Promise<string> => {
  const here = async (method: string, route: string, body?: unknown) =>
    (await call(source, key, method, route, body)).body;
  const offer = { provider: "p", tags: "", models: ["m"], apis: ["messages"], concurrency: 5 };
  await here("POST", "/presence", { instance: "w", status: "online", ...offer });
  const lineOf = (custom_id: string, model = "m") => ({
    custom_id,
    params: { model, max_tokens: 9, messages: [{ role: "user", content: custom_id }] },
  });
  const requests = [lineOf("refused"), lineOf("é \\ answered"), lineOf("waits", "nobodys")];
  const { id } = await here("POST", "/v1/messages/batches", { requests });
  for (let count = 0; count < 2; ) {
    for (const { id: job, lease, custom_id } of (await here("POST", "/api/workers/w/claim?wait=5", { max: 5 })).jobs) {
      count += 1;
      if (custom_id !== "refused") {
        const result = { type: "message", content: [{ type: "text", text: "\n" }] };
        await here("POST", `/api/jobs/${job}/complete`, { lease, result });
      } else await here("POST", `/api/jobs/${job}/fail`, { lease, error: { code: "no", message: "no", status: 400 } });
    }
  }
  await here("POST", `/v1/messages/batches/${id}/cancel`, {});
  await eventually(async () =>
    expect((await here("GET", `/v1/messages/batches/${id}`)).processing_status).toBe("ended"),
  );
  return id;
};

const textOf = async ({ url }: SelfHosted, key: string, route: string): Promise<string> => {
  const answer = await fetch(url + route, { headers: { authorization: `Bearer ${key}` } });
  expect(answer.status).toBe(200);
  return answer.text();
};

test("what a batch has made is there: its two files, and the results of its messages", async () => {
  const key = await makeTenant("batched");
  const id = await endedBatch(key);
  const files = (await call(source, key, "GET", "/api/files")).body.files.map(({ id: file }: Body) => file);
  expect(files).toHaveLength(3);
  const contents = (of: SelfHosted) =>
    Promise.all(files.map((file: string) => textOf(of, key, `/api/files/${file}/content`)));
  const results = async (of: SelfHosted) =>
    (await textOf(of, key, `/v1/messages/batches/${id}/results`)).trim().split("\n").sort();
  const before = [await contents(source), await results(source)];
  expect(before[1]).toHaveLength(3);

  await moveWith("batched");
  expect([await contents(target), await results(target)]).toEqual(before);
  for (const file of files) expect((await call(target, key, "DELETE", `/api/files/${file}`)).status).toBe(204);
  expect((await call(target, key, "GET", `/v1/messages/batches/${id}/results`)).status).toBe(404);
}, 60_000);

test("only the holder of the root key moves a tenant", async () => {
  for (const [method, route] of [
    ["POST", "/admin/tenants/default/move"],
    ["DELETE", "/admin/tenants/default/move"],
    ["GET", "/admin/tenants/default/rows?place=object&table=keys"],
    ["POST", "/admin/tenants/default/arrive"],
  ] as const)
    expect((await call(source, source.adminKey, method, route, method === "GET" ? undefined : {})).status).toBe(403);
});
