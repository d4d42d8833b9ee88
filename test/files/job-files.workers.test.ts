// Files in jobs: what a worker gets, what it stores, and who may read it.

import { describe, expect, it } from "vitest";
import { type Client, newWorld, ORIGIN, request, type World } from "../support/workerd/client.ts";
import { fakeWorker } from "../support/workerd/fake-worker.ts";

const store = async (client: Client, text: string): Promise<string> => {
  const raw = { raw: text, headers: { "content-type": "text/plain" } };
  const { status, body } = await client.post("/api/files?name=in.txt", undefined, raw);
  expect(status).toBe(201);
  return body.id;
};

const claimed = async (worker: Client) => {
  await worker.ok("POST", "/presence", { instance: "w", provider: "p", status: "idle" });
  const { jobs } = await worker.ok("POST", "/api/workers/w/claim", {});
  return jobs[0];
};

const send = (worker: Client, path: string, text: string, type = "application/json") =>
  request(worker.key, path.includes("/result?") ? "PUT" : "POST", path, undefined, {
    raw: text,
    headers: { "content-type": type },
  });

const withJob = async (): Promise<{ world: World; worker: Client; job: { id: string; lease: number } }> => {
  const world = await newWorld();
  const worker = await world.withKey("worker");
  await world.ok("POST", "/api/jobs", { prompt: "go" });
  return { world, worker, job: await claimed(worker) };
};

describe("a job's files", () => {
  it("come to its worker as links that need no key", async () => {
    const world = await newWorld();
    const worker = await world.withKey("worker");
    const id = await store(world, "the input");
    const made = await world.ok("POST", "/api/jobs", { prompt: "read it", files: [id] });
    expect(made).toMatchObject({ files: [id], result_files: [], result_file: null, result_bytes: null });
    const { files } = await claimed(worker);
    expect(files).toEqual([{ id, name: "in.txt", bytes: 9, content_type: "text/plain", url: expect.any(String) }]);
    const path = files[0].url.slice(ORIGIN.length);
    expect(await request(null, "GET", path)).toMatchObject({ status: 200, text: "the input" });
  });

  it("must be there, and be the caller's to see, when it is created", async () => {
    const world = await newWorld();
    const id = await store(world, "x");
    const refused = await world.post("/api/jobs", { prompt: "x", files: [id, "file-none"] });
    expect([refused.status, refused.body.errors[0].path]).toEqual([400, "files.1"]);
    const batch = await world.post("/api/jobs/batch", {
      jobs: [{ prompt: "a" }, { prompt: "b", files: ["file-none"] }],
    });
    expect([batch.status, batch.body.errors[0].path]).toEqual([400, "jobs.1.files.0"]);
    const ofOne = await world.post("/api/jobs/batch", { jobs: [{ prompt: "b", files: ["file-none"] }] });
    expect(ofOne.body.errors[0].path).toBe("jobs.0.files.0");
    const foreign = await newWorld();
    expect((await foreign.post("/api/jobs", { prompt: "x", files: [id] })).status).toBe(400);
    const many = Array.from({ length: 17 }, () => id);
    expect((await world.post("/api/jobs", { prompt: "x", files: many })).status).toBe(400);
  });

  it("that are gone fail it before a worker gets it", async () => {
    const world = await newWorld();
    const worker = await world.withKey("worker");
    const id = await store(world, "x");
    const { id: job } = await world.ok("POST", "/api/jobs", { prompt: "x", files: [id] });
    expect((await world.delete(`/api/files/${id}`)).status).toBe(204);
    expect(await claimed(worker)).toBe(undefined);
    expect(await world.ok("GET", `/api/jobs/${job}`)).toMatchObject({ status: "failed", error: { code: "file_gone" } });
  });

  it("that go after it was assigned fail it before its worker hears of it", async () => {
    const world = await newWorld();
    const worker = await world.withKey("worker");
    const id = await store(world, "x");
    expect(await claimed(worker)).toBe(undefined);
    const { id: job } = await world.ok("POST", "/dispatch", { prompt: "x", files: [id] });
    expect((await world.delete(`/api/files/${id}`)).status).toBe(204);
    expect(await claimed(worker)).toBe(undefined);
    expect(await world.ok("GET", `/api/jobs/${job}`)).toMatchObject({ status: "failed", error: { code: "file_gone" } });
    expect((await world.ok("GET", "/presence")).workers[0].current_load).toBe(0);
  });

  it("belong to each run of a schedule", async () => {
    const world = await newWorld();
    const id = await store(world, "x");
    const made = await world.ok("POST", "/api/schedules", { name: "s", interval: "1h", prompt: "x", files: [id] });
    expect(made.files).toEqual([id]);
    const { job_id } = await world.ok("POST", "/api/schedules/s/run");
    expect((await world.ok("GET", `/api/jobs/${job_id}`)).files).toEqual([id]);
  });

  it("that are gone when a schedule runs fail its job, also where a worker waits on a socket", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const id = await store(world, "x");
    const schedule = { name: "s", interval: "1h", prompt: "x", model: "m1", files: [id] };
    await world.ok("POST", "/api/schedules", schedule);
    await world.delete(`/api/files/${id}`);
    const run = await world.ok("POST", "/api/schedules/s/run");
    expect(run).toMatchObject({ outcome: "created", job_status: "failed" });
    const failed = await world.ok("GET", `/api/jobs/${run.job_id}`);
    expect(failed).toMatchObject({ status: "failed", lease: 0, error: { code: "file_gone" } });
    const { id: next } = await world.ok("POST", "/api/jobs", { prompt: "y", model: "m1" });
    expect((await worker.nextJob()).id).toBe(next);
  });
});

describe("what a worker stores", () => {
  it("stands in the job, for a week", async () => {
    const { world, worker, job } = await withJob();
    const added = await send(worker, `/api/jobs/${job.id}/files?lease=${job.lease}&name=out.png`, "PNG", "image/png");
    expect(added).toMatchObject({ status: 201, body: { name: "out.png", bytes: 3, job_id: job.id } });
    const { id, expires_at } = added.body;
    expect(Math.round((Date.parse(expires_at) - Date.now()) / 86_400_000)).toBe(7);
    await worker.ok("POST", `/api/jobs/${job.id}/complete`, { lease: job.lease, result: "done" });
    const { result_files, result } = await world.ok("GET", `/api/jobs/${job.id}`);
    expect([result_files, result]).toEqual([[{ id, name: "out.png", bytes: 3, content_type: "image/png" }], "done"]);
    expect((await world.get(`/api/files/${id}/content`)).text).toBe("PNG");
  });

  it("is the worker's to read while it holds the job, and no other client's", async () => {
    const world = await newWorld();
    const [worker, other] = [await world.withKey("worker"), await world.withKey("client")];
    await world.ok("POST", "/api/jobs", { prompt: "go" });
    const job = await claimed(worker);
    const added = await send(worker, `/api/jobs/${job.id}/files?lease=${job.lease}&name=o`, "x", "text/plain");
    expect((await worker.get(`/api/files/${added.body.id}/content`)).status).toBe(200);
    expect((await other.get(`/api/files/${added.body.id}`)).status).toBe(404);
    await worker.ok("POST", `/api/jobs/${job.id}/complete`, { lease: job.lease, result: "done" });
  });

  it("needs the lease", async () => {
    const { worker, job } = await withJob();
    const stale = await send(worker, `/api/jobs/${job.id}/files?lease=${job.lease + 1}&name=o`, "x", "text/plain");
    expect([stale.status, stale.body.code]).toEqual([409, "lease_lost"]);
  });

  it("over 64 MiB is no result", async () => {
    const { worker, job } = await withJob();
    const put = await send(worker, `/api/jobs/${job.id}/result?lease=${job.lease}`, "1".repeat(64 * 1024 * 1024 + 1));
    expect([put.status, put.body.code]).toEqual([413, "result_too_large"]);
  });

  it("over 1 MiB as a result is a file, which the report names", async () => {
    const { world, worker, job } = await withJob();
    const result = JSON.stringify({ text: "x".repeat(1_200_000) });
    const put = await send(worker, `/api/jobs/${job.id}/result?lease=${job.lease}`, result);
    expect(put.status).toBe(201);
    const { file } = put.body;
    expect(file).toEqual({ id: expect.stringMatching(/^file-/), bytes: result.length });
    const complete = (result_file: string) =>
      worker.post(`/api/jobs/${job.id}/complete`, { lease: job.lease, result_file });
    expect((await complete("file-other")).status).toBe(409);
    expect((await complete(file.id)).status).toBe(200);
    expect((await complete(file.id)).status).toBe(200);
    const done = await world.ok("GET", `/api/jobs/${job.id}`);
    expect(done).toMatchObject({ status: "completed", result: null, result_file: file, result_bytes: result.length });
    expect(done.result_files).toEqual([]);
    expect((await world.get(`/api/files/${file.id}/content`)).text === result).toBe(true);
  });
});
