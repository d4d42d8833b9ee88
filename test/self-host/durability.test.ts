// What a user of `npm start` relies on: an answer means that it is on disk, whatever happens to the process.

import { statSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { type Client, createClient } from "../../contract/client.ts";
import { Signalbox } from "../../sdk/signalbox.ts";
import { killChild } from "../support/child-processes.ts";
import { send } from "../support/requests.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const CLIENTS = 8;
const ACKNOWLEDGED_BEFORE_KILL = 150;

const data = folderForEachTest();
let server: SelfHosted | null = null;

afterEach(async () => {
  await server?.kill();
});

const clientOf = ({ url, adminKey: key }: SelfHosted): Client => createClient({ url, key, retries: 0 });

/** Creates jobs and works on them until the server is gone; everything answered must survive. */
const workUntilKilled = async (at: SelfHosted, acknowledged: Map<string, string>): Promise<void> => {
  const { workers, jobs } = clientOf(at);
  await workers.report({ instance: "w", provider: "p", status: "online", tags: "", concurrency: 100 });
  const client = async (name: number): Promise<void> => {
    for (let count = 0; ; count += 1) {
      const { id } = await jobs.create({ prompt: `job ${name}-${count}` });
      acknowledged.set(id, "accepted");
      for (const job of (await workers.claim("w", { max: 1 })).jobs) {
        const report = { lease: job.lease, result: { said: job.prompt } };
        const { status } = await jobs.complete(job.id, report);
        if (status === "completed") acknowledged.set(job.id, status);
      }
    }
  };
  await Promise.allSettled(Array.from({ length: CLIENTS }, (_, name) => client(name)));
};

test("a server killed in the middle of work has every acknowledged job when it starts again", async () => {
  server = await startSelfHosted(data.path);
  const first = server;
  const acknowledged = new Map<string, string>();
  const working = workUntilKilled(first, acknowledged);
  await expect.poll(() => acknowledged.size, { timeout: 30_000 }).toBeGreaterThan(ACKNOWLEDGED_BEFORE_KILL);
  await first.kill();
  await working;

  server = await startSelfHosted(data.path);
  const { jobs } = clientOf(server);
  expect(server.adminKey).toBe(first.adminKey);
  for (const [id, state] of acknowledged) {
    const job = await jobs.get(id);
    if (state !== "completed") continue;
    expect(job).toMatchObject({ status: "completed", result: { said: job.prompt } });
  }
  expect((await jobs.list({ limit: 1 })).total).toBeGreaterThanOrEqual(acknowledged.size);
}, 120_000);

test("SIGTERM ends the server with 0, and its secrets are its owner's alone", async () => {
  server = await startSelfHosted(data.path);
  expect(statSync(data.path).mode & 0o777).toBe(0o700);
  for (const file of ["default.admin.key", "lock.sqlite"])
    expect(statSync(path.join(data.path, file)).mode & 0o777).toBe(0o600);
  expect(await server.stop()).toBe(0);
}, 60_000);

test.each(["the server stops", "the tenants' process dies"])(
  "when %s, nothing runs on for requests whose clients were told so, but for one that may be repeated",
  async (how) => {
    server = await startSelfHosted(data.path);
    const { url, adminKey: key } = server;
    const offer = { instance: "w", provider: "p", status: "online" as const, tags: "", concurrency: 9 };
    await clientOf(server).workers.report({ ...offer, models: ["m"], apis: ["chat/completions"] });
    const ask = (content: string, more: object = {}, headers: Record<string, string> = {}) => {
      const body = { model: "m", messages: [{ role: "user", content }], ...more };
      return send({ url, key }, "POST", "/v1/chat/completions", body, { headers });
    };
    const asked = [ask("plain"), ask("stream", { stream: true }), ask("keyed", {}, { "idempotency-key": "once" })];
    const { jobs } = clientOf(server);
    await expect.poll(async () => (await jobs.list({ status: "assigned" })).total).toBe(3);
    if (how === "the server stops") expect(await server.stop()).toBe(0);
    else expect(killChild(data.path, "serving")).toBe(true);
    for (const answer of await Promise.all(asked)) expect(answer.status).toBe(503);

    if (how === "the server stops") server = await startSelfHosted(data.path);
    const { jobs: found } = clientOf(server);
    const ends = async () => (await found.list()).jobs.map(({ prompt, error }) => [prompt, error?.code ?? "goes on"]);
    const expected = { plain: "client_closed", stream: "client_closed", keyed: "goes on" };
    await expect.poll(async () => Object.fromEntries(await ends())).toEqual(expected);
  },
  60_000,
);

test("the local worker of a first start takes a job and brings its result, and a stream's words as they come", async () => {
  server = await startSelfHosted(data.path, { args: [], env: { SERVICE_RUNTIME_URL: "" } });
  const { workers, jobs } = clientOf(server);
  await expect.poll(async () => (await workers.present()).workers.length).toBe(1);
  const { id } = await jobs.create({ prompt: "say something" });
  expect(await jobs.get(id, { wait: 20 })).toMatchObject({ status: "completed", result: { text: "say something" } });
  const box = new Signalbox({ url: server.url, key: server.adminKey });
  let text = "";
  for await (const { type, data: chunk } of box.jobs.stream({ prompt: "say it in words" }))
    if (type === "chunk") text += (chunk as { text: string }).text;
  expect(text).toBe("say it in words");
  expect(await server.stop()).toBe(0);
}, 60_000);
