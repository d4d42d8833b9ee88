// Who reads which files, and what HTTP says of their bytes.

import { expect, it } from "vitest";
import { type Client, newWorld, ORIGIN, request } from "../support/workerd/client.ts";

const RAW = { headers: { "content-type": "text/plain" } };

const stored = async (client: Client, raw: string): Promise<string> =>
  (await client.post(`/api/files?name=${raw}.txt`, undefined, { ...RAW, raw })).body.id;

it("a worker sees the files of jobs that it holds, and no others, by id and in its list", async () => {
  const world = await newWorld();
  const worker = await world.withKey("worker");
  const [given, foreign] = [await stored(world, "given"), await stored(world, "foreign")];
  const { id: job } = await world.ok("POST", "/api/jobs", { prompt: "go", files: [given] });
  expect(await worker.ok("GET", "/api/files")).toMatchObject({ files: [], total: 0 });
  expect((await worker.get(`/api/files/${given}`)).status).toBe(404);
  await worker.ok("POST", "/presence", { instance: "w", provider: "p", status: "idle" });
  const { jobs } = await worker.ok("POST", "/api/workers/w/claim", {});
  const { lease } = jobs[0];
  const made = await worker.post(`/api/jobs/${job}/files?lease=${lease}&name=o`, undefined, { ...RAW, raw: "output" });
  const listed = await worker.ok("GET", "/api/files");
  expect(listed.files.map(({ id }: { id: string }) => id)).toEqual([made.body.id, given]);
  expect(listed.total).toBe(2);
  expect((await worker.ok("GET", "/api/files?limit=1&offset=1")).files).toHaveLength(1);
  expect((await worker.get(`/api/files/${given}/content`)).text).toBe("given");
  for (const path of [`/api/files/${foreign}`, `/api/files/${foreign}/content`])
    expect((await worker.get(path)).status).toBe(404);
  const other = await world.withKey("worker");
  expect((await other.get(`/api/files/${given}`)).status).toBe(404);
  await worker.ok("POST", `/api/jobs/${job}/complete`, { lease, result: "done" });
  expect((await worker.ok("GET", "/api/files")).total).toBe(0);
});

it("a viewer reads the records in both forms, and no bytes", async () => {
  const world = await newWorld();
  const viewer = await world.withKey("viewer");
  const id = await stored(world, "secret");
  expect((await viewer.ok("GET", "/api/files")).files[0].id).toBe(id);
  expect((await viewer.ok("GET", "/v1/files")).data[0].id).toBe(id);
  expect((await viewer.ok("GET", `/v1/files/${id}`)).id).toBe(id);
  for (const path of [`/api/files/${id}/content`, `/v1/files/${id}/content`])
    expect((await viewer.get(path)).status).toBe(403);
});

it("a range that is not there names the file's size, in both forms", async () => {
  const world = await newWorld();
  const id = await stored(world, "hello");
  for (const path of [`/api/files/${id}/content`, `/v1/files/${id}/content`]) {
    const { status, headers } = await world.get(path, { headers: { range: "bytes=5-" } });
    expect([status, headers.get("content-range")]).toEqual([416, "bytes */5"]);
  }
});

it("a client that has any version of it needs no bytes", async () => {
  const world = await newWorld();
  const id = await stored(world, "hello");
  const { status, text } = await world.get(`/api/files/${id}/content`, { headers: { "if-none-match": "*" } });
  expect([status, text]).toEqual([304, ""]);
});

it("a link has the address that the client used", async () => {
  const world = await newWorld();
  const id = await stored(world, "hello");
  const headers = { "x-forwarded-proto": "https", "x-forwarded-host": "files.example.org" };
  const { body } = await world.post(`/api/files/${id}/link`, {}, { headers });
  expect(body.url).toMatch(/^https:\/\/files\.example\.org\/files\//);
  const path = body.url.replace("https://files.example.org", "");
  expect((await request(null, "GET", path)).text).toBe("hello");
  expect((await world.ok("POST", `/api/files/${id}/link`, {})).url).toMatch(`${ORIGIN}/files/`);
});

it("an upload that is too large is 413, and one that is over is named as its client knows it", async () => {
  const world = await newWorld();
  const upload = { filename: "x", purpose: "batch", mime_type: "text/plain" };
  const large = await world.post("/v1/uploads", { ...upload, bytes: 512 * 1024 * 1024 + 1 });
  expect([large.status, large.body.error.code]).toEqual([413, "file_too_large"]);
  const { id } = await world.ok("POST", "/v1/uploads", { ...upload, bytes: 5 });
  await world.ok("POST", `/v1/uploads/${id}/cancel`);
  const again = await world.post(`/v1/uploads/${id}/cancel`);
  expect([again.status, again.body.error.message]).toEqual([404, expect.stringContaining(`"${id}"`)]);
});

it("a job's result is one thing: a second one is refused, and so is a stored one that is no JSON", async () => {
  const world = await newWorld();
  const worker = await world.withKey("worker");
  const { id } = await world.ok("POST", "/api/jobs", { prompt: "go" });
  await worker.ok("POST", "/presence", { instance: "w", provider: "p", status: "idle" });
  const { lease } = (await worker.ok("POST", "/api/workers/w/claim", {})).jobs[0];
  const put = (raw: string, type: string) =>
    worker.put(`/api/jobs/${id}/result?lease=${lease}`, undefined, { raw, headers: { "content-type": type } });
  expect((await put("no json", "text/plain")).status).toBe(415);
  const { file } = (await put('{"a":1}', "application/json")).body;
  const both = await worker.post(`/api/jobs/${id}/complete`, { lease, result: "a", result_file: file.id });
  expect([both.status, both.body.errors[0].path]).toEqual([400, "result"]);
  const done = await worker.ok("POST", `/api/jobs/${id}/complete`, { lease, result: null, result_file: file.id });
  expect(done).toMatchObject({ status: "completed", result: null, result_file: file });
});
