// Images, sound and reranking: OpenAI's client against the server, the worker process and a runtime that has them.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import OpenAI, { toFile } from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { SIGNALBOX } from "../support/command-line.ts";
import { eventually } from "../support/eventually.ts";
import { type Body, send } from "../support/requests.ts";
import { type Tenant, tenantForTests } from "../support/shared-server.ts";

const MIB = 1024 * 1024;

interface Heard {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly bytes: Buffer;
}

type Answer = (response: ServerResponse, heard: Heard) => void;

const json = (response: ServerResponse, body: unknown, status = 200): void => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
};

/** A runtime with the media APIs; it reranks at `/v2/rerank` alone. */
const PATHS = new Set([
  "/v1/images/generations",
  "/v1/images/edits",
  "/v1/audio/transcriptions",
  "/v1/audio/translations",
  "/v1/audio/speech",
  "/v2/rerank",
]);
const heard: Heard[] = [];
let answer: Answer = (response) => json(response, {});

let runtime: Server;
let server: Tenant;
let worker: ChildProcess;
let workerOutput = "";

const api = async (method: string, route: string, body?: unknown): Promise<Body> =>
  (await send({ url: server.url, key: server.adminKey }, method, route, body)).body;

const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const { url: path = "", headers } = request;
  const bytes = Buffer.concat(pieces);
  if (path === "/v1/models") return json(response, { object: "list", data: [{ id: "m1", object: "model" }] });
  if (!PATHS.has(path)) return json(response, { error: { message: `no ${path}` } }, 404);
  // What a worker asks to find out whether it is there.
  if (bytes.toString("latin1") === "{}") return json(response, { error: { message: "what?" } }, 400);
  heard.push({ path, headers, bytes });
  answer(response, { path, headers, bytes });
};

beforeAll(async () => {
  runtime = createServer((request, response) => void respond(request, response));
  runtime.listen(0, "127.0.0.1");
  await once(runtime, "listening");
  server = await tenantForTests();
  const args = [SIGNALBOX, "worker", "--runtime", "vllm", "--provider", "local", "--instance", "w1"];
  worker = spawn(process.execPath, [...args, "--concurrency", "20"], {
    env: {
      PATH: process.env.PATH ?? "",
      SERVICE_API_URL: server.url,
      SERVICE_API_KEY: server.adminKey,
      SERVICE_RUNTIME_URL: `http://127.0.0.1:${(runtime.address() as AddressInfo).port}`,
    },
  });
  for (const out of [worker.stdout, worker.stderr])
    out?.on("data", (chunk) => {
      workerOutput += chunk;
    });
  await eventually(async () => {
    const { data } = await api("GET", "/v1/models");
    expect(
      data?.map(({ id }: { id: string }) => id),
      workerOutput,
    ).toContain("m1");
  });
}, 90_000);

afterEach(() => {
  heard.length = 0;
});

afterAll(async () => {
  worker?.kill("SIGKILL");
  await server?.close();
  runtime?.closeAllConnections();
  runtime?.close();
});

const openai = (): OpenAI => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: server.adminKey, maxRetries: 0 });

const newestJob = async (): Promise<Body> => {
  const { jobs } = await api("GET", "/api/jobs?limit=1");
  return api("GET", `/api/jobs/${jobs[0].id}`);
};

const partsOf = ({ headers, bytes }: Heard): string[] => {
  const boundary = /boundary=(.+)$/.exec(headers["content-type"] ?? "")?.[1] ?? "";
  return bytes
    .toString("latin1")
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => part.trim());
};

test("a worker offers what its runtime has, wherever that has it", async () => {
  const { apis } = await api("GET", "/api/workers/w1");
  expect([...apis].sort()).toEqual([
    "audio/speech",
    "audio/transcriptions",
    "audio/translations",
    "images/edits",
    "images/generations",
    "rerank",
  ]);
});

test("reranking goes to where the runtime has it", async () => {
  answer = (response) => json(response, { results: [{ index: 1, relevance_score: 0.9 }], usage: { total_tokens: 5 } });
  const body = { model: "m1", query: "q", documents: ["a", "b"], top_n: 1 };
  expect(await api("POST", "/v1/rerank", body)).toMatchObject({ results: [{ index: 1 }] });
  expect([heard[0]?.path, JSON.parse(heard[0]?.bytes.toString() ?? "")]).toEqual(["/v2/rerank", body]);
  expect(await newestJob()).toMatchObject({ api: "rerank", prompt: "q", usage: { input_tokens: 5 } });
});

describe("images", () => {
  test("are generated, also where they have many megabytes", async () => {
    const b64_json = "x".repeat(6 * MIB);
    answer = (response) => json(response, { created: 1, data: [{ b64_json }, { b64_json }] });
    const made = await openai().images.generate({ model: "m1", prompt: "a cat", n: 2 });
    expect(made.data?.map((image) => image.b64_json?.length)).toEqual([6 * MIB, 6 * MIB]);
    const job = await newestJob();
    expect(job).toMatchObject({ api: "images/generations", prompt: "a cat", result: null, status: "completed" });
    expect(job.result_bytes).toBeGreaterThan(12 * MIB);
  });

  test("are streamed where the runtime does that", async () => {
    answer = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const say = (data: { type: string; b64_json: string }) =>
        response.write(`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
      say({ type: "image_generation.partial_image", b64_json: "half" });
      say({ type: "image_generation.completed", b64_json: "whole" });
      response.end();
    };
    const types: string[] = [];
    const stream = await openai().images.generate({ model: "m1", prompt: "a cat", stream: true });
    for await (const event of stream) types.push(event.type);
    expect(types).toEqual(["image_generation.partial_image", "image_generation.completed"]);
  });

  test("are edited: the runtime gets the client's fields and files in the client's order", async () => {
    answer = (response) => json(response, { created: 1, data: [{ b64_json: "eA==" }] });
    const image = await toFile(Buffer.from("PNG"), "c.png", { type: "image/png" });
    const made = await openai().images.edit({ model: "m1", image, prompt: "add a hat" });
    expect(made.data?.[0]?.b64_json).toBe("eA==");
    heard.length = 0;
    const form = new FormData();
    form.append("model", "m1");
    form.append("image[]", new File(["PNG1"], 'a "b".png', { type: "image/png" }));
    form.append("image[]", new File(["PNG2"], "c.png"));
    form.append("prompt", "add a hat");
    form.append("n", "1");
    const headers = { authorization: `Bearer ${server.adminKey}` };
    const edited = await fetch(`${server.url}/v1/images/edits`, { method: "POST", headers, body: form });
    expect(edited.status).toBe(200);
    const [request] = heard;
    if (request === undefined) throw new Error("the runtime heard nothing");
    expect(request.headers["content-length"]).toBe(String(request.bytes.byteLength));
    const names = partsOf(request).map((part) => /name="([^"]+)"/.exec(part)?.[1]);
    expect(names).toEqual(["model", "image[]", "image[]", "prompt", "n"]);
    expect(partsOf(request).map((part) => part.split("\r\n\r\n")[1])).toEqual(["m1", "PNG1", "PNG2", "add a hat", "1"]);
    const job = await newestJob();
    expect(job.files).toHaveLength(2);
    expect(job).toMatchObject({ api: "images/edits", prompt: "add a hat" });
    // The files are gone with the request.
    await expect.poll(async () => (await api("GET", "/api/files")).total).toBe(0);
  });
});

describe("sound", () => {
  test("is refused where the form's fields would be too large as JSON", async () => {
    const form = new FormData();
    form.append("model", "m1");
    // Six characters each, once they are escaped.
    form.append("prompt", "\u0001".repeat(90_000));
    const headers = { authorization: `Bearer ${server.adminKey}` };
    const refused = await fetch(`${server.url}/v1/audio/transcriptions`, { method: "POST", headers, body: form });
    const { error } = (await refused.json()) as { error: object };
    expect(refused.status).toBe(400);
    expect(error).toMatchObject({ message: "the form's fields may have at most 524288 bytes as JSON" });
  });

  test.each(["model", "stream"])("is refused where the form says %s twice", async (name) => {
    const form = new FormData();
    form.append("model", "m1");
    if (name !== "model") form.append(name, "true");
    form.append(name, name === "model" ? "m1" : "true");
    form.append("file", new File(["s"], "s.wav"));
    const headers = { authorization: `Bearer ${server.adminKey}` };
    const refused = await fetch(`${server.url}/v1/audio/transcriptions`, { method: "POST", headers, body: form });
    const { error } = (await refused.json()) as { error: object };
    expect([refused.status, error]).toMatchObject([400, { param: name, message: `${name}: is given more than once` }]);
    expect(heard).toEqual([]);
  });

  test("is transcribed, however large it is, as JSON and as text", async () => {
    answer = (response) =>
      json(response, { text: "hello", usage: { type: "tokens", input_tokens: 4, output_tokens: 1 } });
    const file = await toFile(Buffer.alloc(20 * MIB, "s"), "speech.wav", { type: "audio/wav" });
    const asked = { model: "m1", file, timestamp_granularities: ["word" as const, "segment" as const] };
    expect((await openai().audio.transcriptions.create(asked)).text).toBe("hello");
    const [request] = heard;
    if (request === undefined) throw new Error("the runtime heard nothing");
    const sound = partsOf(request).find((part) => part.includes("audio/wav"));
    expect(sound?.split("\r\n\r\n")[1]?.length).toBe(20 * MIB);
    expect(await newestJob()).toMatchObject({ result: { text: "hello" }, usage: { input_tokens: 4 } });
    const subtitles = "WEBVTT\n\n00:00.000 --> 00:01.000\nhello\n";
    answer = (response) => {
      response.writeHead(200, { "content-type": "text/vtt" });
      response.end(subtitles);
    };
    const small = await toFile(Buffer.from("s"), "s.wav");
    expect(await openai().audio.transcriptions.create({ model: "m1", file: small, response_format: "vtt" })).toBe(
      subtitles,
    );
    answer = (response) => json(response, { text: "in English" });
    expect((await openai().audio.translations.create({ model: "m1", file: small })).text).toBe("in English");
  });

  test("is transcribed event by event", async () => {
    answer = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const event of [
        { type: "transcript.text.delta", delta: "hel" },
        { type: "transcript.text.done", text: "hello" },
      ])
        response.write(`data: ${JSON.stringify(event)}\n\n`);
      response.end();
    };
    const file = await toFile(Buffer.from("s"), "s.wav");
    const types: string[] = [];
    for await (const event of await openai().audio.transcriptions.create({ model: "m1", file, stream: true }))
      types.push(event.type);
    expect(types).toEqual(["transcript.text.delta", "transcript.text.done"]);
  });

  test("is spoken: the bytes come with their own type", async () => {
    const sound = Buffer.from([0xff, 0xfb, 0x90, 0x00, 0x0a, 0x80]);
    answer = (response) => {
      response.writeHead(200, { "content-type": "audio/mpeg" });
      response.end(Buffer.concat([sound, Buffer.alloc(3 * MIB, 7)]));
    };
    const spoken = await openai().audio.speech.create({ model: "m1", input: "hello", voice: "alloy" });
    expect(spoken.headers.get("content-type")).toBe("audio/mpeg");
    const bytes = Buffer.from(await spoken.arrayBuffer());
    expect([bytes.subarray(0, 6).equals(sound), bytes.byteLength]).toEqual([true, 3 * MIB + 6]);
    expect(await newestJob()).toMatchObject({ api: "audio/speech", prompt: "hello", result: null, cost_usd: 0 });
  });

  test("is heard while it is spoken, and is nowhere afterwards", async () => {
    const [half, rest] = [Buffer.alloc(100_000, 1), Buffer.alloc(50_001, 2)];
    const heardHalf = Promise.withResolvers<void>();
    answer = (response) => {
      response.writeHead(200, { "content-type": "audio/wav" });
      response.write(half);
      void heardHalf.promise.then(() => response.end(rest));
    };
    const spoken = await openai().audio.speech.create({ model: "m1", input: "hello", voice: "alloy" });
    expect(spoken.headers.get("content-type")).toBe("audio/wav");
    const pieces: Buffer[] = [];
    for await (const piece of spoken.body as unknown as AsyncIterable<Uint8Array>) {
      pieces.push(Buffer.from(piece));
      if (Buffer.concat(pieces).byteLength === half.byteLength) heardHalf.resolve();
    }
    expect(Buffer.concat(pieces).equals(Buffer.concat([half, rest]))).toBe(true);
    await expect.poll(newestJob).toMatchObject({ status: "completed", result: null, result_bytes: 150_001 });
    expect((await api("GET", "/api/files")).total).toBe(0);
  });

  test("that breaks off breaks the connection, because bytes cannot tell it", async () => {
    answer = (response) => {
      response.writeHead(200, { "content-type": "audio/wav", "content-length": "200000" });
      response.write(Buffer.alloc(100_000, 1), () => setTimeout(() => response.destroy(), 200));
    };
    const spoken = await openai().audio.speech.create({ model: "m1", input: "hello", voice: "alloy" });
    await expect(spoken.arrayBuffer()).rejects.toThrow();
    await expect.poll(newestJob).toMatchObject({ status: "failed", error: { code: "runtime_unreachable" } });
  });

  test("whose client leaves ends at its runtime", async () => {
    const left = Promise.withResolvers<void>();
    answer = (response) => {
      response.writeHead(200, { "content-type": "audio/wav" });
      const speaking = setInterval(() => response.write(Buffer.alloc(1000, 1)), 50);
      response.on("close", () => left.resolve(clearInterval(speaking)));
    };
    const leaving = new AbortController();
    const asked = { model: "m1", input: "hello", voice: "alloy" };
    const spoken = await openai().audio.speech.create(asked, { signal: leaving.signal });
    leaving.abort();
    await left.promise;
    await expect.poll(newestJob).toMatchObject({ status: "cancelled" });
    expect(spoken.status).toBe(200);
  });

  test("is events for a client that asks for them, and bytes for one that does not, whatever the runtime sends", async () => {
    const asked = { model: "m1", input: "hello", voice: "alloy" };
    answer = (response) => {
      response.writeHead(200, { "content-type": "audio/wav" });
      response.end("sound");
    };
    const told = await openai().audio.speech.create({ ...asked, stream_format: "sse" });
    const events = [...(await told.text()).matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? ""));
    expect(events).toMatchObject([{ type: "speech.audio.delta", audio: btoa("sound") }, { type: "speech.audio.done" }]);
    answer = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const text of ["so", "und"])
        response.write(`data: ${JSON.stringify({ type: "speech.audio.delta", audio: btoa(text) })}\n\n`);
      response.end(`data: ${JSON.stringify({ type: "speech.audio.done", usage: { input_tokens: 3 } })}\n\n`);
    };
    expect(await (await openai().audio.speech.create(asked)).text()).toBe("sound");
    await expect.poll(newestJob).toMatchObject({ usage: { input_tokens: 3 } });
    answer = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`data: ${JSON.stringify({ type: "speech.audio.done" })}\n\n`);
    };
    expect(await (await openai().audio.speech.create(asked)).text()).toBe("");
  });

  test("that the runtime refuses keeps the runtime's words, and leaves no file", async () => {
    answer = (response) => json(response, { error: { message: "no such voice", code: "voice" } }, 400);
    const speech = openai().audio.speech.create({ model: "m1", input: "hello", voice: "alloy" });
    await expect(speech).rejects.toMatchObject({ status: 400, code: "voice" });
    const file = await toFile(Buffer.from("s"), "s.wav");
    const unknown = openai().audio.transcriptions.create({ model: "nobody's", file });
    await expect(unknown).rejects.toMatchObject({ status: 404, code: "model_not_found" });
    await expect.poll(async () => (await api("GET", "/api/files")).total).toBe(0);
  });

  test("is kept whole for a request that may be repeated, and an answer in JSON stays JSON", async () => {
    answer = (response) => {
      response.writeHead(200, { "content-type": "audio/mpeg" });
      response.end("sound");
    };
    const say = (headers: Record<string, string>) =>
      fetch(`${server.url}/v1/audio/speech`, {
        method: "POST",
        headers: { authorization: `Bearer ${server.adminKey}`, "content-type": "application/json", ...headers },
        body: JSON.stringify({ model: "m1", input: "hello", voice: "alloy" }),
      });
    for (const replayed of [null, "true"]) {
      const spoken = await say({ "idempotency-key": "once" });
      expect([spoken.headers.get("idempotency-replayed"), await spoken.text()]).toEqual([replayed, "sound"]);
    }
    expect(heard).toHaveLength(1);
    answer = (response) => json(response, { audio: "elsewhere" });
    const told = await say({});
    expect([told.headers.get("content-type"), await told.json()]).toEqual(["application/json", { audio: "elsewhere" }]);
  });
});
