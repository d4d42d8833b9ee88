// What a user of `npm start` relies on: an answer means that it is on disk, whatever happens to the process.

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";

const CLIENTS = 8;
const ACKNOWLEDGED_BEFORE_KILL = 150;

let dataDir = "";
let server: SelfHosted | null = null;

beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), "signalbox-"));
});

afterEach(async () => {
  await server?.kill();
  rmSync(dataDir, { recursive: true, force: true });
});

interface Job {
  readonly id: string;
  readonly status: string;
  readonly prompt: string;
  readonly lease: number;
  readonly result: unknown;
}

const request = async (at: SelfHosted, method: string, route: string, body?: unknown): Promise<Response> =>
  fetch(`${at.url}${route}`, {
    method,
    headers: { authorization: `Bearer ${at.adminKey}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

/** Creates jobs and works on them until the server is gone; what was answered is what must survive. */
const workUntilKilled = async (at: SelfHosted, acknowledged: Map<string, string>): Promise<void> => {
  const presence = { instance: "w", provider: "p", status: "online", tags: "", concurrency: 100 };
  await request(at, "POST", "/presence", presence);
  const client = async (name: number): Promise<void> => {
    for (let count = 0; ; count += 1) {
      const created = await request(at, "POST", "/api/jobs", { prompt: `job ${name}-${count}` });
      const { id } = (await created.json()) as Job;
      acknowledged.set(id, "accepted");
      const { jobs } = (await (await request(at, "POST", "/api/workers/w/claim", { max: 1 })).json()) as {
        jobs: Job[];
      };
      for (const job of jobs) {
        const report = { lease: job.lease, result: { said: job.prompt } };
        const completed = await request(at, "POST", `/api/jobs/${job.id}/complete`, report);
        if (completed.status === 200) acknowledged.set(job.id, "completed");
      }
    }
  };
  await Promise.allSettled(Array.from({ length: CLIENTS }, (_, name) => client(name)));
};

test("a server killed in the middle of work has every acknowledged job when it starts again", async () => {
  server = await startSelfHosted(dataDir);
  const first = server;
  const acknowledged = new Map<string, string>();
  const working = workUntilKilled(first, acknowledged);
  await expect.poll(() => acknowledged.size, { timeout: 30_000 }).toBeGreaterThan(ACKNOWLEDGED_BEFORE_KILL);
  await first.kill();
  await working;

  server = await startSelfHosted(dataDir);
  const second = server;
  expect(second.adminKey).toBe(first.adminKey);
  for (const [id, state] of acknowledged) {
    const answer = await request(second, "GET", `/api/jobs/${id}`);
    expect(answer.status, `job ${id}, ${state}`).toBe(200);
    const job = (await answer.json()) as Job;
    if (state !== "completed") continue;
    expect(job.status).toBe("completed");
    expect(job.result).toEqual({ said: job.prompt });
  }
  const list = (await (await request(second, "GET", "/api/jobs?limit=1")).json()) as { total: number };
  expect(list.total).toBeGreaterThanOrEqual(acknowledged.size);
}, 120_000);

test("SIGTERM ends the server with 0, and its secrets are its owner's alone", async () => {
  server = await startSelfHosted(dataDir);
  expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  expect(statSync(path.join(dataDir, "default.admin.key")).mode & 0o777).toBe(0o600);
  expect(await server.stop()).toBe(0);
}, 60_000);

test("the local worker of a first start takes a job and brings its result", async () => {
  server = await startSelfHosted(dataDir, { args: [], env: { SERVICE_RUNTIME_URL: "" } });
  const at = server;
  await expect
    .poll(
      async () => ((await (await request(at, "GET", "/presence")).json()) as { workers: unknown[] }).workers.length,
      {
        timeout: 20_000,
      },
    )
    .toBe(1);
  const created = (await (await request(at, "POST", "/api/jobs", { prompt: "say something" })).json()) as Job;
  const done = (await (await request(at, "GET", `/api/jobs/${created.id}?wait=20`)).json()) as Job;
  expect(done.status).toBe("completed");
  expect(done.result).toMatchObject({ text: "say something" });
  expect(await at.stop()).toBe(0);
}, 60_000);
