// A local runtime whose proxy packs its answers, although the worker asks for them as they are.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { event } from "../runtimes/fake-runtime.ts";
import { local, run } from "./chat-fixture.ts";

type Told = { status?: number; type?: string; encoding: string; body: Uint8Array };

const INPUT = { model: "m1", stream: true, messages: [{ role: "user", content: "hi" }] };
const STREAM = event({ choices: [{ index: 0, delta: { content: "Hello" }, finish_reason: "stop" }] }) + event("[DONE]");
const HELLO = { ok: true, result: { choices: [{ message: { content: "Hello" } }] } };

const asked = async ({ status = 200, type = "application/json", encoding, body }: Told) => {
  const server = createServer((request, response) => {
    if (request.method === "GET") return void response.end(JSON.stringify({ data: [{ id: "m1" }] }));
    response.writeHead(status, { "content-type": type, "content-encoding": encoding });
    response.end(body);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return run(local("vllm", url), { api: "chat/completions", input: INPUT });
};

test.each([
  ["gzip", gzipSync],
  ["deflate", deflateSync],
  ["br", brotliCompressSync],
] as const)("is read with %s, its streams and its refusals", async (encoding, pack) => {
  const stream = { type: "text/event-stream", encoding, body: pack(STREAM) };
  expect(await asked(stream)).toMatchObject(HELLO);
  const said = JSON.stringify({ error: { message: "no such parameter" } });
  const error = { status: 400, message: "no such parameter" };
  expect(await asked({ status: 400, encoding, body: pack(said) })).toMatchObject({ ok: false, error });
});

test("is stopped by the size of what is unpacked", async () => {
  const outcome = await asked({ encoding: "gzip", body: gzipSync(Buffer.alloc(8 * 1024 * 1024, " ")) });
  expect(outcome).toMatchObject({ ok: false, error: { code: "result_too_large" } });
});

test("breaks off where what it sent is not packed, and is read as it is with an encoding that nobody knows", async () => {
  const body = Buffer.from(STREAM);
  const broken = { code: "runtime_unreachable", status: 502, retryable: true };
  expect(await asked({ type: "text/event-stream", encoding: "gzip", body })).toMatchObject({
    ok: false,
    error: broken,
  });
  expect(await asked({ type: "text/event-stream", encoding: "own", body })).toMatchObject(HELLO);
});
