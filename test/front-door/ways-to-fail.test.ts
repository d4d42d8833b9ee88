// Every way in which a stream can fail, for each kind of client: each hears an end that it knows as a failure, never
// silence, and never a part as the whole. One row a way; all clients meet it together.

import { type ChildProcess, spawn } from "node:child_process";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { streamText } from "ai";
import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventsOf } from "../../contract/text/event-stream.ts";
import { SIGNALBOX } from "../support/command-line.ts";
import { eventually } from "../support/eventually.ts";
import { type Body, send } from "../support/requests.ts";
import { type Tenant, tenantForTests } from "../support/shared-server.ts";
import { type Behaviour, MockRuntime } from "../worker/runtimes/mock-runtime.ts";

const WORDS = Array.from({ length: 2_000 }, () => "word ");
const TALKING: Behaviour = { words: WORDS, delayMs: 20 };
const STALLED: Behaviour = { words: WORDS, stallAfter: 3, delayMs: 5 };

let server: Tenant;
let runtime: MockRuntime;
let worker: ChildProcess;

const api = async (method: string, route: string, body?: unknown): Promise<Body> =>
  (await send({ url: server.url, key: server.adminKey }, method, route, body)).body;

const startWorker = async (): Promise<void> => {
  const args = [SIGNALBOX, "worker", "--runtime", "vllm", "--provider", "local", "--instance", "w1"];
  const env = {
    PATH: process.env.PATH ?? "",
    SERVICE_API_URL: server.url,
    SERVICE_API_KEY: server.adminKey,
    SERVICE_RUNTIME_URL: runtime.url,
  };
  worker = spawn(process.execPath, [...args, "--concurrency", "50"], { env, stdio: "ignore" });
  await eventually(async () => {
    const { connected, runtime_models, apis } = await api("GET", "/api/workers/w1");
    expect([connected, runtime_models ?? [], apis?.length ?? 5]).toEqual([true, expect.anything(), expect.anything()]);
    const listed = await api("GET", "/v1/models");
    expect(listed.data?.map(({ id }: { id: string }) => id)).toContain("m1");
  });
};

const configure = (more: Body = {}) =>
  api("PUT", "/config", { jobs: { max_attempts: 1 }, front_door: { queue_seconds: 1, ...more } });

beforeAll(async () => {
  runtime = await new MockRuntime({ models: ["m1"] }).start();
  server = await tenantForTests();
  await configure();
  await startWorker();
}, 90_000);

/** A worker that fails ten jobs in a row rests; one that succeeds starts from zero. */
afterEach(async () => {
  runtime.behave = () => undefined;
  const answer = await api("POST", "/v1/chat/completions", { model: "m1", messages: ASKED });
  expect(answer).toMatchObject({ object: "chat.completion" });
});

afterAll(async () => {
  worker?.kill("SIGKILL");
  await server?.close();
  await runtime?.stop();
});

/** What a client made of its stream: whether it heard anything, and the failure that it knows. */
interface Heard {
  words: number;
  /** `whole` is what no client may take such a stream for. */
  end: "failed" | "whole" | "open";
  says: string;
}

type Read = (heard: Heard, headers: Record<string, string>) => Promise<void>;

const textOf = (error: unknown): string => {
  const { message, code, error: inner, cause, responseBody } = error as Record<string, unknown>;
  return [message, code, responseBody, inner === undefined ? "" : JSON.stringify(inner), String(cause ?? "")].join(" ");
};

const ASKED = [{ role: "user" as const, content: "say much" }];
const options = () => ({ apiKey: server.adminKey, maxRetries: 0 });

const CLIENTS: Readonly<Record<string, Read>> = {
  /** Knows these ends alone; it takes a stream without one for a lost connection and asks again. */
  "a Responses client": async (heard, headers) => {
    const answer = await fetch(`${server.url}/v1/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${server.adminKey}`, "content-type": "application/json", ...headers },
      body: JSON.stringify({ model: "m1", input: "say much", stream: true }),
    });
    if (!answer.ok || answer.body === null) throw new Error(await answer.text());
    let next = 0;
    for await (const { event, data: text } of eventsOf(answer.body)) {
      const said = JSON.parse(text);
      expect(said.type).toBe(event);
      if (event === "response.output_text.delta") heard.words += 1;
      if (event === "response.completed") return;
      if (event === "response.failed") {
        // The mock numbers none of its own failures.
        if (said.sequence_number !== undefined) expect(said.sequence_number).toBe(next);
        expect(said.response).toMatchObject({ id: expect.any(String), status: "failed" });
        throw new Error(JSON.stringify(said.response.error));
      }
      next = said.sequence_number + 1;
    }
    heard.says = "closed before response.completed";
    throw new TypeError("closed before response.completed");
  },
  "openai, chat": async (heard, headers) => {
    const client = new OpenAI({ baseURL: `${server.url}/v1`, ...options() });
    const stream = await client.chat.completions.create({ model: "m1", messages: ASKED, stream: true }, { headers });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) heard.words += 1;
  },
  "openai, responses": async (heard, headers) => {
    const client = new OpenAI({ baseURL: `${server.url}/v1`, ...options() });
    const stream = await client.responses.create({ model: "m1", input: "say much", stream: true }, { headers });
    for await (const event of stream) {
      if (event.type === "response.output_text.delta") heard.words += 1;
      if (event.type === "response.failed") throw event.response.error;
    }
  },
  /** It puts the response together, and reads nothing of one that was not created. */
  "openai, responses, put together": async (heard, headers) => {
    const client = new OpenAI({ baseURL: `${server.url}/v1`, ...options() });
    const stream = client.responses.stream({ model: "m1", input: "say much" }, { headers });
    stream.on("response.output_text.delta", () => {
      heard.words += 1;
    });
    const { status, error } = await stream.finalResponse();
    if (status !== "completed") throw error;
  },
  "@anthropic-ai/sdk": async (heard, headers) => {
    const client = new Anthropic({ baseURL: server.url, ...options() });
    const stream = client.messages.stream({ model: "m1", max_tokens: 5_000, messages: ASKED }, { headers });
    stream.on("text", () => {
      heard.words += 1;
    });
    await stream.finalMessage();
  },
  "the AI SDK": async (heard, headers) => {
    const provider = createOpenAICompatible({ name: "signalbox", baseURL: `${server.url}/v1`, ...options() });
    const { fullStream } = streamText({
      model: provider("m1"),
      messages: ASKED,
      headers,
      maxRetries: 0,
      onError: () => undefined,
    });
    for await (const part of fullStream) {
      if (part.type === "text-delta") heard.words += 1;
      if (part.type === "error") throw part.error;
    }
  },
};

/** Every client asks at once; `act` runs when each has got as far as the way needs. */
const meet = async ({ behaviour, act, isSilent = false, headers = {} }: Way): Promise<Map<string, Heard>> => {
  runtime.behave = () => behaviour;
  const before = runtime.calls.length;
  const heard = new Map(Object.keys(CLIENTS).map((name) => [name, { words: 0, end: "open", says: "" } as Heard]));
  const reading = Object.entries(CLIENTS).map(async ([name, read]) => {
    const mine = heard.get(name) as Heard;
    try {
      await read(mine, headers);
      mine.end = "whole";
    } catch (error) {
      mine.end = "failed";
      mine.says += ` ${textOf(error)}`;
    }
  });
  if (act !== undefined) {
    await eventually(() => {
      expect(runtime.calls.length - before).toBeGreaterThanOrEqual(heard.size);
      if (!isSilent) expect(Math.min(...[...heard.values()].map(({ words }) => words))).toBeGreaterThan(0);
    });
    await act();
  }
  await Promise.all(reading);
  return heard;
};

interface Way {
  readonly what: string;
  readonly behaviour: Behaviour;
  /** Of `front_door` in the config. */
  readonly config?: Body;
  /** What happens to the streams; nothing where their runtime fails by itself. */
  readonly act?: () => Promise<void>;
  readonly headers?: Record<string, string>;
  /** It comes before the first event. */
  readonly isSilent?: boolean;
  /** Some words that each client can show its user. */
  readonly says: RegExp;
  readonly after?: () => Promise<void>;
}

const cancelAll = async (): Promise<void> => {
  const { jobs } = await api("GET", "/api/jobs?status=running&limit=50");
  await Promise.all(jobs.map(({ id }: Body) => api("POST", `/api/jobs/${id}/cancel`)));
};
const loseWorker = async (): Promise<void> => void worker.kill("SIGKILL");
const restart = async (): Promise<void> => {
  await eventually(async () => expect((await api("GET", "/api/workers/w1")).connected).toBe(false));
  await startWorker();
};

const WAYS: readonly Way[] = [
  { what: "its runtime refuses", behaviour: { status: 400 }, isSilent: true, says: /told to refuse/ },
  {
    what: "its runtime fails before the first event",
    behaviour: { errorAfter: 0 },
    isSilent: true,
    says: /told to fail/,
  },
  {
    what: "its runtime breaks off before the first event",
    behaviour: { cutAfter: 0 },
    isSilent: true,
    says: /broke off|dropped|reach/i,
  },
  {
    what: "its runtime fails before the first event, and the status is sent already",
    behaviour: { headersAfterMs: 1_500, errorAfter: 0 },
    config: { commit_after_seconds: 0.1 },
    isSilent: true,
    says: /told to fail/,
  },
  {
    what: "its runtime says nothing for longer than an attempt may",
    behaviour: { headersAfterMs: 60_000 },
    config: { first_token_seconds: 1 },
    isSilent: true,
    says: /first|nothing|silent/i,
  },
  { what: "its runtime tells an error in the middle", behaviour: { ...TALKING, errorAfter: 5 }, says: /told to fail/ },
  {
    what: "its runtime's connection breaks in the middle",
    behaviour: { ...TALKING, cutAfter: 5 },
    says: /broke off|dropped|reach/i,
  },
  { what: "its runtime ends it without an end", behaviour: { ...TALKING, endAfter: 5 }, says: /broke off/ },
  { what: "its job is cancelled", behaviour: TALKING, act: cancelAll, says: /cancelled/ },
  { what: "its job is cancelled while its runtime is silent", behaviour: STALLED, act: cancelAll, says: /cancelled/ },
  { what: "its job takes too long", behaviour: STALLED, headers: { "x-signalbox-timeout": "2" }, says: /longer than/ },
  {
    what: "the killswitch is thrown",
    behaviour: TALKING,
    act: async () => void (await api("POST", "/killswitch", { level: 1, reason: "drill" })),
    says: /killswitch/,
    after: async () => void (await api("DELETE", "/killswitch?resume_all=true")),
  },
  {
    what: "its worker is lost in the middle",
    behaviour: TALKING,
    act: loseWorker,
    says: /worker|stream/,
    after: restart,
  },
  {
    what: "its worker is lost before the first event, and there is no other",
    behaviour: { headersAfterMs: 60_000 },
    act: loseWorker,
    isSilent: true,
    says: /no worker|lost|attempt/i,
    after: restart,
  },
];

test.each(WAYS)(
  "every client knows that a stream has failed where $what",
  async (way) => {
    if (way.config !== undefined) await configure(way.config);
    const heard = await meet(way);
    await way.after?.();
    if (way.config !== undefined) await configure();
    for (const [name, { end, says, words }] of heard) {
      expect(end, `${name}: ${says}`).toBe("failed");
      expect(says, name).toMatch(way.says);
      expect(words > 0, `${name} heard ${words} words`).toBe(way.isSilent !== true);
    }
  },
  60_000,
);

test("every client knows a whole stream as whole", async () => {
  const heard = await meet({ what: "whole", behaviour: { words: ["a ", "b "] }, says: /^$/ });
  for (const [name, { end, says, words }] of heard) expect([name, end, says, words]).toEqual([name, "whole", "", 2]);
});
