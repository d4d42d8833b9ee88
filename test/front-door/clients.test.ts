// Real AI clients against the server, the worker process and a runtime that can be told to misbehave.

import { type ChildProcess, spawn } from "node:child_process";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { embed, generateText, streamText } from "ai";
import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { SIGNALBOX } from "../support/command-line.ts";
import { eventually } from "../support/eventually.ts";
import { type Body, send } from "../support/requests.ts";
import { type Tenant, tenantForTests } from "../support/shared-server.ts";
import { type Behaviour, MockRuntime } from "../worker/runtimes/mock-runtime.ts";

/** Longer than any test waits. */
const NEVER_MS = 60_000;
const HELLO = [{ role: "user" as const, content: "say hello to all" }];

let server: Tenant;
let runtime: MockRuntime;
let worker: ChildProcess;
let workerOutput = "";

const api = async (method: string, route: string, body?: unknown): Promise<Body> =>
  (await send({ url: server.url, key: server.adminKey }, method, route, body)).body;

beforeAll(async () => {
  runtime = await new MockRuntime({ models: ["m1"] }).start();
  server = await tenantForTests();
  const args = [
    SIGNALBOX,
    "worker",
    "--runtime",
    "vllm",
    "--provider",
    "local",
    "--instance",
    "w1",
    "--concurrency",
    "50",
  ];
  worker = spawn(process.execPath, args, {
    env: {
      PATH: process.env.PATH ?? "",
      SERVICE_API_URL: server.url,
      SERVICE_API_KEY: server.adminKey,
      SERVICE_RUNTIME_URL: runtime.url,
    },
  });
  worker.stdout?.on("data", (chunk) => {
    workerOutput += chunk;
  });
  worker.stderr?.on("data", (chunk) => {
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
  runtime.behave = () => undefined;
});

afterAll(async () => {
  worker?.kill("SIGKILL");
  await server?.close();
  await runtime?.stop();
});

const behaving = (behaviour: Behaviour): void => {
  runtime.behave = () => behaviour;
};

const openai = (): OpenAI => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: server.adminKey, maxRetries: 0 });
const anthropic = (): Anthropic => new Anthropic({ baseURL: server.url, apiKey: server.adminKey, maxRetries: 0 });

test("a body of 30 MiB reaches the runtime, also where each of its characters is escaped", async () => {
  const escaped = "\\".repeat(15 * 1024 * 1024);
  const answer = await api("POST", "/v1/chat/completions", { model: "m1", messages: HELLO, escaped });
  expect(answer).toMatchObject({ object: "chat.completion" });
}, 120_000);

test("an answer of 30 MB reaches each client whole, streamed and plain", async () => {
  const words = Array.from({ length: 300 }, (_, index) => String.fromCharCode(97 + (index % 26)).repeat(100_000));
  const whole = words.join("");
  // 10 MB a second: a client on a busy machine reads that fast, so that it is not cut as slow.
  behaving({ words, delayMs: 10 });
  const asked = { model: "m1", messages: HELLO };
  let said = "";
  for await (const chunk of await openai().chat.completions.create({ ...asked, stream: true }))
    said += chunk.choices[0]?.delta.content ?? "";
  expect(said === whole, `${said.length} of ${whole.length}`).toBe(true);
  const plain = (await openai().chat.completions.create(asked)).choices[0]?.message.content ?? "";
  expect(plain === whole, `${plain.length} of ${whole.length}`).toBe(true);
  const message = await anthropic()
    .messages.stream({ ...asked, max_tokens: 9 })
    .finalMessage();
  const [block] = message.content;
  expect(block?.type === "text" && block.text === whole).toBe(true);
}, 120_000);

const TEXTS = Array.from({ length: 512 }, (_, index) => `text ${index}`);

/** Vectors of 1,024 numbers, as a runtime answers. */
const largeVectors = (count: number) => ({
  object: "list",
  model: "m1",
  data: Array.from({ length: count }, (_, index) => ({
    object: "embedding",
    index,
    embedding: Array.from({ length: 1_024 }, (_, at) => 0.125 + at),
  })),
  usage: { prompt_tokens: 9, total_tokens: 9 },
});

const asBase64 = (answer: ReturnType<typeof largeVectors>) => ({
  ...answer,
  data: answer.data.map(({ embedding, ...row }) => ({
    ...row,
    embedding: Buffer.from(new Float32Array(embedding).buffer).toString("base64"),
  })),
});

describe("openai", () => {
  test("chats, streamed and not, with usage where it asks", async () => {
    const whole = await openai().chat.completions.create({ model: "m1", messages: HELLO });
    expect(whole.choices[0]?.message.content).toBe("say hello to all");
    let text = "";
    let usage: unknown = null;
    const stream = await openai().chat.completions.create({
      model: "m1",
      messages: HELLO,
      stream: true,
      stream_options: { include_usage: true },
    });
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      usage = chunk.usage ?? usage;
    }
    expect(text).toBe("say hello to all");
    expect(usage).toMatchObject({ prompt_tokens: expect.any(Number) });
    for await (const chunk of await openai().chat.completions.create({ model: "m1", messages: HELLO, stream: true })) {
      expect(chunk.choices.length).toBe(1);
    }
  });

  test("speaks responses, completions, embeddings and models", async () => {
    const response = await openai().responses.create({ model: "m1", input: "say hello to all" });
    expect(response.output_text).toBe("say hello to all");
    let text = "";
    for await (const event of await openai().responses.create({
      model: "m1",
      input: "say hello to all",
      stream: true,
    })) {
      if (event.type === "response.output_text.delta") text += event.delta;
    }
    expect(text).toBe("say hello to all");
    const completion = await openai().completions.create({ model: "m1", prompt: "say hello" });
    expect(completion.choices[0]?.text).toBe("say hello");
    const embedded = await openai().embeddings.create({ model: "m1", input: "hello" });
    expect(embedded.data[0]?.embedding.length).toBeGreaterThan(0);
    const ids: string[] = [];
    for await (const model of openai().models.list()) ids.push(model.id);
    expect(ids).toContain("m1");
    expect((await openai().models.retrieve("m1")).object).toBe("model");
  });

  test("gets the vectors of 512 texts at once", async () => {
    const answer = largeVectors(512);
    behaving({ status: 200, errorBody: answer });
    const floats = await openai().embeddings.create({ model: "m1", input: TEXTS, encoding_format: "float" });
    expect(floats).toMatchObject(answer);
    behaving({ status: 200, errorBody: asBase64(answer) });
    const { data } = await openai().embeddings.create({ model: "m1", input: TEXTS });
    expect([data.length, data[511]?.embedding.length, data[511]?.embedding[0]]).toEqual([512, 1_024, 0.125]);
    const [job] = (await api("GET", "/api/jobs?limit=1")).jobs;
    const { result, result_bytes, status, usage } = await api("GET", `/api/jobs/${job.id}`);
    expect({ result, status, usage }).toEqual({
      result: null,
      status: "completed",
      usage: { input_tokens: 9, output_tokens: 0 },
    });
    expect(result_bytes).toBeGreaterThan(1024 * 1024);
  });

  test("hears tool calls whole", async () => {
    behaving({ toolCall: { id: "t1", name: "weather", arguments: '{"city":"Bern"}' } });
    const runner = openai().chat.completions.stream({ model: "m1", messages: HELLO });
    const { choices } = await runner.finalChatCompletion();
    expect(choices[0]?.message.tool_calls?.[0]).toMatchObject({
      function: { name: "weather", arguments: '{"city":"Bern"}' },
    });
  });

  test("throws where a stream is cut, errs, or ends without its end: never a half answer for a whole one", async () => {
    for (const behaviour of [{ cutAfter: 2 }, { errorAfter: 2 }, { endAfter: 2 }]) {
      behaving({ words: ["a ", "b ", "c ", "d "], delayMs: 20, ...behaviour });
      const read = async () => {
        for await (const _ of await openai().chat.completions.create({ model: "m1", messages: HELLO, stream: true }));
      };
      await expect(read(), JSON.stringify(behaviour)).rejects.toThrow();
    }
  });

  test("gets the runtime's own refusal with its status", async () => {
    behaving({ status: 400, errorBody: { error: { message: "bad temperature", code: "invalid_value" } } });
    const refused = openai().chat.completions.create({ model: "m1", messages: HELLO, stream: true });
    await expect(refused).rejects.toMatchObject({ status: 400 });
  });

  test.each([
    ["before the first token", { headersAfterMs: NEVER_MS }, false],
    ["in the middle of a stream", { words: Array.from({ length: 500 }, () => "w "), delayMs: 20 }, true],
  ] as const)("that leaves %s stops the runtime", async (_, behaviour, hears) => {
    behaving(behaviour);
    const before = runtime.asked.length;
    const left = new AbortController();
    const read = async () => {
      const stream = await openai().chat.completions.create(
        { model: "m1", messages: HELLO, stream: true },
        { signal: left.signal },
      );
      for await (const _chunk of stream) left.abort();
    };
    const reading = read().catch(() => undefined);
    await eventually(() => expect(runtime.asked.length).toBeGreaterThan(before));
    if (!hears) left.abort();
    await eventually(() => expect(runtime.asked.at(-1)?.isAborted).toBe(true));
    await reading;
    await eventually(async () => {
      const { jobs } = await api("GET", "/api/jobs?limit=1");
      expect(jobs[0]).toMatchObject({ status: "cancelled", error: { code: "client_closed" } });
    });
  });

  test("that leaves a plain request stops the runtime", async () => {
    behaving({ headersAfterMs: NEVER_MS });
    const before = runtime.asked.length;
    const left = new AbortController();
    const asking = openai()
      .chat.completions.create({ model: "m1", messages: HELLO }, { signal: left.signal })
      .catch(() => undefined);
    await eventually(() => expect(runtime.asked.length).toBeGreaterThan(before));
    left.abort();
    await eventually(() => expect(runtime.asked.at(-1)?.isAborted).toBe(true));
    await asking;
  });

  test("sends a body of many megabytes", async () => {
    behaving({ words: ["read"] });
    const content = "x".repeat(8_000_000);
    const answer = await openai().chat.completions.create({
      model: "m1",
      messages: [{ role: "user", content }],
      max_tokens: 5,
    });
    expect(answer.choices[0]?.message).toBeDefined();
    const { body } = runtime.asked.findLast(({ body }) => body?.max_tokens === 5) ?? {};
    expect(body?.messages[0].content.length).toBe(8_000_000);
  }, 30_000);
});

test("@anthropic-ai/sdk talks, streamed and not, and hears errors in its own words", async () => {
  const asked = { model: "m1", max_tokens: 100, messages: HELLO };
  const message = await anthropic().messages.create(asked);
  expect(message.content[0]).toMatchObject({ type: "text", text: "say hello to all" });
  expect(runtime.asked.at(-1)?.headers["anthropic-version"]).toMatch(/^20\d\d-/);
  const counted = await anthropic().messages.countTokens({ model: "m1", messages: HELLO });
  expect(counted).toMatchObject({ input_tokens: expect.any(Number) });
  const final = await anthropic().messages.stream(asked).finalMessage();
  expect(final.content[0]).toMatchObject({ type: "text", text: "say hello to all" });
  behaving({ status: 400, errorBody: { type: "error", error: { type: "invalid_request_error", message: "no" } } });
  await expect(anthropic().messages.create(asked)).rejects.toMatchObject({ status: 400 });
  behaving({ words: ["a ", "b ", "c "], delayMs: 20, cutAfter: 1 });
  await expect(anthropic().messages.stream(asked).finalMessage()).rejects.toThrow();
  const models: string[] = [];
  for await (const { id } of anthropic().models.list()) models.push(id);
  expect(models).toContain("m1");
});

test("the AI SDK generates, streams and embeds", async () => {
  const provider = createOpenAICompatible({ name: "signalbox", baseURL: `${server.url}/v1`, apiKey: server.adminKey });
  const { text } = await generateText({ model: provider("m1"), messages: HELLO });
  expect(text).toBe("say hello to all");
  let streamed = "";
  for await (const part of streamText({ model: provider("m1"), messages: HELLO }).textStream) streamed += part;
  expect(streamed).toBe("say hello to all");
  const { embedding } = await embed({ model: provider.textEmbeddingModel("m1"), value: "hello" });
  expect(embedding.length).toBeGreaterThan(0);
});

test("LangChain embeds as many texts at once as it does by default", async () => {
  behaving({ status: 200, errorBody: asBase64(largeVectors(512)) });
  const configuration = { baseURL: `${server.url}/v1` };
  const model = new OpenAIEmbeddings({ model: "m1", apiKey: server.adminKey, maxRetries: 0, configuration });
  const vectors = await model.embedDocuments(TEXTS);
  expect([vectors.length, vectors[511]?.length]).toEqual([512, 1_024]);
});

test("LangChain invokes and streams", async () => {
  const model = new ChatOpenAI({
    model: "m1",
    apiKey: server.adminKey,
    maxRetries: 0,
    configuration: { baseURL: `${server.url}/v1` },
  });
  expect((await model.invoke("say hello to all")).content).toBe("say hello to all");
  let text = "";
  for await (const chunk of await model.stream("say hello to all")) text += chunk.content;
  expect(text).toBe("say hello to all");
});

test("the killswitch ends open streams itself: their worker is frozen", async () => {
  behaving({ words: Array.from({ length: 500 }, () => "w "), delayMs: 20 });
  const streams = await Promise.all(
    Array.from({ length: 5 }, () => openai().chat.completions.create({ model: "m1", messages: HELLO, stream: true })),
  );
  const ended = streams.map(async (stream) => {
    try {
      for await (const _ of stream);
      return "whole";
    } catch (error) {
      return (error as { code?: string }).code;
    }
  });
  worker.kill("SIGSTOP");
  await api("POST", "/killswitch", { level: 1, reason: "drill" });
  expect(await Promise.all(ended)).toEqual(streams.map(() => "killswitch_active"));
  worker.kill("SIGCONT");
  await api("DELETE", "/killswitch?resume_all=true");
});
