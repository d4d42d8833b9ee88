// A backup of a busy server: what was answered before it began is in the copy, complete and consistent.

import { execFile } from "node:child_process";
import { statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { succeed } from "../support/requests.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForAllTests, folderForEachTest } from "../support/temporary-folder.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const run = promisify(execFile);
const FINAL = ["completed", "failed", "cancelled"];

const folder = folderForEachTest();
let servers: SelfHosted[] = [];

afterEach(async () => {
  await Promise.all(servers.map((server) => server.kill()));
  servers = [];
});

const start = async (dataDir: string): Promise<SelfHosted> => {
  const server = await startSelfHosted(dataDir);
  servers.push(server);
  return server;
};

const script = (name: string, dataDir: string, ...args: string[]) =>
  run(process.execPath, ["scripts/setup.mjs", `scripts/${name}.ts`, ...args], {
    cwd: ROOT,
    env: { ...process.env, SERVICE_DATA_DIR: dataDir },
  });

interface Job {
  readonly id: string;
  readonly status: string;
  readonly lease: number;
}

const call = ({ url, adminKey }: SelfHosted, method: string, route: string, body?: unknown): Promise<unknown> =>
  succeed({ url, key: adminKey }, method, route, body);

/** Creates and completes jobs until told to stop; `known` has the last answered status. */
const work = async (server: SelfHosted, known: Map<string, string>, isOver: () => boolean): Promise<void> => {
  await call(server, "POST", "/presence", {
    instance: "w",
    provider: "p",
    status: "online",
    tags: "",
    concurrency: 50,
  });
  while (!isOver()) {
    const created = (await call(server, "POST", "/api/jobs", { prompt: "hello" })) as Job;
    known.set(created.id, created.status);
    const { jobs } = (await call(server, "POST", "/api/workers/w/claim", { max: 1 })) as { jobs: Job[] };
    for (const job of jobs) {
      await call(server, "POST", `/api/jobs/${job.id}/complete`, { lease: job.lease, result: "done" });
      known.set(job.id, "completed");
    }
  }
};

test("of a server at work a backup is one consistent state, and a restored copy goes on from it", async () => {
  const dataDir = path.join(folder.path, "data");
  const server = await start(dataDir);
  const known = new Map<string, string>();
  let isOver = false;
  const working = [1, 2, 3, 4].map(() => work(server, known, () => isOver));
  while (known.size < 60) await new Promise((resolve) => setTimeout(resolve, 20));
  const answeredBefore = new Map(known);
  const archive = path.join(folder.path, "copy.tar");
  const { stdout } = await script("backup", dataDir, archive);
  expect(stdout).toContain("Copied from the running server");
  expect(statSync(archive).mode & 0o777).toBe(0o600);
  const during = known.size;
  isOver = true;
  await Promise.all(working);
  expect(during).toBeGreaterThan(answeredBefore.size);

  const restored = path.join(folder.path, "restored");
  const { stdout: told } = await script("restore", restored, archive);
  expect(told).toContain(`Start the server with: SERVICE_DATA_DIR=${restored} npm start`);
  expect(statSync(restored).mode & 0o777).toBe(0o700);
  const copy = await start(restored);
  expect(copy.adminKey).toBe(server.adminKey);
  for (const [id, status] of answeredBefore) {
    const job = (await call(copy, "GET", `/api/jobs/${id}`)) as Job;
    if (FINAL.includes(status)) expect(job.status).toBe(status);
  }
  // History's list and the object's own answer agree about each job.
  const { jobs, total } = (await call(copy, "GET", "/api/jobs?limit=200")) as { jobs: Job[]; total: number };
  expect(total).toBeGreaterThanOrEqual(answeredBefore.size);
  for (const listed of jobs) {
    const job = (await call(copy, "GET", `/api/jobs/${listed.id}`)) as Job;
    expect([listed.id, job.status]).toEqual([listed.id, listed.status]);
  }
  const more = new Map<string, string>();
  let turns = 0;
  await work(copy, more, () => ++turns > 5);
  expect([...more.values()]).toContain("completed");
}, 120_000);

test("files and batches are in a backup, and a restored batch goes on to its end", async () => {
  const dataDir = path.join(folder.path, "data");
  const server = await start(dataDir);
  const authorization = `Bearer ${server.adminKey}`;
  const line = (at: number): string =>
    JSON.stringify({ custom_id: `q${at}`, method: "POST", url: "/v1/embeddings", body: { model: "m1", input: "x" } });
  const text = Array.from({ length: 30 }, (_, at) => line(at)).join("\n");
  const stored = await fetch(`${server.url}/api/files?purpose=batch`, {
    method: "POST",
    headers: { authorization, "content-type": "application/jsonl" },
    body: text,
  });
  const { id: file } = (await stored.json()) as { id: string };
  const asked = { input_file_id: file, endpoint: "/v1/embeddings", completion_window: "24h" };
  const { id } = (await call(server, "POST", "/v1/batches", asked)) as { id: string };
  const archive = path.join(folder.path, "copy.tar");
  await script("backup", dataDir, archive);
  const restored = path.join(folder.path, "restored");
  await script("restore", restored, archive);
  const copy = await start(restored);
  const bytesOf = async (name: string): Promise<string> =>
    (await fetch(`${copy.url}/api/files/${name}/content`, { headers: { authorization } })).text();
  expect(await bytesOf(file)).toBe(text);
  await call(copy, "POST", "/presence", { instance: "w", provider: "p", apis: ["embeddings"], concurrency: 20 });
  const answered = async (): Promise<{ status: string; output_file: string }> => {
    const { jobs } = (await call(copy, "POST", "/api/workers/w/claim", { max: 20 })) as { jobs: Job[] };
    for (const job of jobs) await call(copy, "POST", `/api/jobs/${job.id}/complete`, { lease: job.lease, result: {} });
    return (await call(copy, "GET", `/api/batches/${id}`)) as { status: string; output_file: string };
  };
  await expect.poll(async () => (await answered()).status, { timeout: 60_000, interval: 100 }).toBe("completed");
  const names = (await bytesOf((await answered()).output_file))
    .trimEnd()
    .split("\n")
    .map((one) => (JSON.parse(one) as { custom_id: string }).custom_id);
  expect(names.sort()).toEqual(Array.from({ length: 30 }, (_, at) => `q${at}`).sort());
}, 120_000);

const failureOf = async (done: Promise<unknown>): Promise<string> => {
  const failed = await done.then(
    () => null,
    (error: { code: number; stderr: string }) => error,
  );
  expect(failed?.code).toBe(1);
  return failed?.stderr ?? "";
};

describe("of a stopped server", () => {
  const stopped = folderForAllTests();
  const at = (name: string): string => path.join(stopped.path, name);
  let id: string;
  let told: string;

  beforeAll(async () => {
    const server = await startSelfHosted(at("data"));
    id = ((await call(server, "POST", "/api/jobs", { prompt: "kept" })) as Job).id;
    await server.stop();
    told = (await script("backup", at("data"), at("copy.tar"))).stdout;
  }, 120_000);

  test("the folder is copied as it lies", async () => {
    expect(told).toContain(`Copied from ${at("data")}.`);
    await script("restore", at("restored"), at("copy.tar"));
    const copy = await start(at("restored"));
    expect(await call(copy, "GET", `/api/jobs/${id}`)).toMatchObject({ prompt: "kept", status: "pending" });
  }, 120_000);

  test("nothing is overwritten, and what is no backup is said to be none", async () => {
    expect(await failureOf(script("backup", at("nobody"), at("new.tar")))).toContain("is not a data folder");
    expect(await failureOf(script("backup", at("data"), at("copy.tar")))).toContain("exists: choose another name");
    expect(await failureOf(script("restore", at("data"), at("copy.tar")))).toContain("is not empty");
    const away = path.join(at("none"), "copy.tar");
    expect(await failureOf(script("backup", at("data"), away))).toMatch(/^\S+none cannot be written: ENOENT.*\n$/);
    expect(await failureOf(script("restore", at("other"), at("none.tar")))).toContain("does not exist");
    writeFileSync(at("foreign.tar"), Buffer.alloc(2048, "x"));
    expect(await failureOf(script("restore", at("other"), at("foreign.tar")))).toContain(
      "is not an archive of `npm run backup`",
    );
  }, 120_000);
});
