// A job's files on their way to a program and back: under safe names, streamed, and refused with words.

import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { LeasedJob } from "../../contract/fleet/worker.ts";
import { coordinatorFiles, type FileBytes, receiveFiles } from "../../worker/job-files.ts";
import { resultStore } from "../../worker/store-result.ts";
import { assignedJob } from "./job-fixture.ts";

type Asked = { method: string; url: string; key: string | undefined; body: string };

let folder: string;
let answer: { status: number; body: string };
const asked: Asked[] = [];
const server = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const { method = "", url = "", headers } = request;
  asked.push({ method, url, key: headers.authorization, body });
  response.writeHead(answer.status, { "content-type": "application/json" }).end(answer.body);
});
const at = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const never = new AbortController().signal;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "signalbox-files-"));
  asked.length = 0;
  answer = { status: 200, body: "{}" };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await new Promise((resolve) => server.close(resolve));
});

const jobWith = (files: LeasedJob["files"]) => assignedJob({ id: "j1", lease: 3, files });
const file = (name: string) => ({
  id: `file-${name}`,
  name,
  bytes: 2,
  content_type: "text/plain",
  url: `/get?${name}`,
});
const send = (bytes: FileBytes) =>
  coordinatorFiles({ apiUrl: at(), apiKey: "k" }).send(jobWith([]), "a b.txt", bytes, never);

test("files are fetched without the key, and their names stay in the folder and differ", async () => {
  const received = await receiveFiles(
    jobWith([file("a.txt"), file("a.txt"), file("../../x"), file(".."), file(`${"長".repeat(250)}.txt`)]),
    { apiUrl: at() },
    folder,
    never,
  );
  const names = received.map((one) => path.relative(folder, one.path));
  expect(names).toEqual(["a.txt", "2-a.txt", "__.._x", "_", `${"長".repeat(65)}.txt`]);
  for (const one of received) expect(readFileSync(one.path, "utf8")).toBe("{}");
  expect(asked.map(({ key }) => key)).toEqual(received.map(() => undefined));
});

test("an output is sent with its lease and its name, from memory or from the disk", async () => {
  answer = { status: 201, body: '{"id":"file-1","name":"a b.txt"}' };
  expect(await send(Buffer.from("hi"))).toEqual({ ok: true, file: { id: "file-1", name: "a b.txt" } });
  writeFileSync(path.join(folder, "out"), "from the disk");
  await send(path.join(folder, "out"));
  const post = { method: "POST", url: "/api/jobs/j1/files?lease=3&name=a%20b.txt", key: "Bearer k" };
  expect(asked).toEqual([
    { ...post, body: "hi" },
    { ...post, body: "from the disk" },
  ]);
});

test.each([
  [
    404,
    'route "/api/jobs/j1/files" not found',
    "This coordinator keeps no files of jobs: a b.txt has no place to go",
    false,
  ],
  [409, "lease 3 is over", "The coordinator did not take the file a b.txt: lease 3 is over", false],
  [503, "later", "The coordinator did not take the file a b.txt: later", true],
  [507, "it is full", "The coordinator did not take the file a b.txt: it is full", false],
])("a refusal with %i says why", async (status, detail, message, retryable) => {
  answer = { status, body: JSON.stringify({ detail }) };
  expect(await send(Buffer.from("hi"))).toEqual({ ok: false, error: { code: "file_not_kept", message, retryable } });
});

test.each([
  [409, false],
  [429, true],
  [503, true],
  [507, false],
])("a long result that is refused with %i is tried again only if that may pass", async (status, retryable) => {
  answer = { status, body: JSON.stringify({ detail: "no" }) };
  async function* bytes() {
    yield Buffer.from('"x"');
  }
  const stored = await resultStore({ apiUrl: at(), apiKey: "k" })(jobWith([]), bytes(), "application/json", never);
  const message = "The coordinator did not take the result: no";
  expect(stored).toEqual({ ok: false, error: { code: "result_not_stored", message, retryable } });
});

test("a long result that a proxy refuses for its size is not called one that its runtime made too long", async () => {
  const store = () => {
    async function* bytes() {
      yield Buffer.from('"x"');
    }
    return resultStore({ apiUrl: at(), apiKey: "k" })(jobWith([]), bytes(), "application/json", never);
  };
  answer = { status: 413, body: "<html><h1>413 Request Entity Too Large</h1></html>" };
  const message = "The coordinator did not take the result: HTTP 413 of a proxy: it limits the size of bodies";
  expect(await store()).toEqual({ ok: false, error: { code: "result_not_stored", message, retryable: false } });
  answer = { status: 413, body: JSON.stringify({ detail: "a result has at most 64 MiB" }) };
  expect(await store()).toMatchObject({ ok: false, error: { code: "result_too_large" } });
});

test("an output is sent again while nothing answers at its coordinator's address", async () => {
  answer = { status: 201, body: '{"id":"file-1"}' };
  const { port } = server.address() as AddressInfo;
  writeFileSync(path.join(folder, "out"), "from the disk");
  const away = `http://127.0.0.1:${port}`;
  await new Promise((resolve) => server.close(resolve));
  const files = coordinatorFiles({ apiUrl: away, apiKey: "k" });
  const sent = ["x", "y"].map((name) =>
    files.send(jobWith([]), name, name === "x" ? Buffer.from("hi") : path.join(folder, "out"), never),
  );
  await new Promise((resolve) => setTimeout(resolve, 300));
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  expect(await Promise.all(sent)).toMatchObject([{ ok: true }, { ok: true }]);
  expect(asked.map(({ body }) => body).toSorted()).toEqual(["from the disk", "hi"]);
});

test("a long result that is here whole is sent again until its coordinator is back", async () => {
  answer = { status: 503, body: '{"detail": "away"}' };
  async function* pieces() {
    yield Buffer.from('"x"');
    if (asked.length === 2) answer = { status: 201, body: '{"file": {"id": "file-1", "bytes": 3}}' };
  }
  const bytes = { [Symbol.asyncIterator]: pieces };
  const store = resultStore({ apiUrl: at(), apiKey: "k" });
  const stored = await store(jobWith([]), bytes, "application/json", never, true);
  expect(stored).toEqual({ ok: true, file: { id: "file-1", bytes: 3 } });
  expect(asked.map(({ body }) => body)).toEqual(['"x"', '"x"', '"x"']);
  const halt = new AbortController();
  answer = { status: 503, body: "{}" };
  const stopped = store(jobWith([]), bytes, "application/json", halt.signal, true);
  await expect.poll(() => asked.length).toBeGreaterThan(3);
  halt.abort();
  await expect(stopped).rejects.toThrow();
});

test("an output that cannot be read fails its job, and not the worker", async () => {
  const missing = path.join(folder, "missing");
  expect(await send(missing)).toMatchObject({
    ok: false,
    error: { code: "file_not_kept", retryable: false, message: expect.stringContaining("could not be read: ENOENT") },
  });
  expect(await send(createReadStream(missing))).toMatchObject({ ok: false, error: { code: "file_not_kept" } });
  expect(await send(folder)).toMatchObject({ ok: false, error: { code: "file_not_kept" } });
});
