// Stored responses with OpenAI's own client, against the server, the worker process and a runtime that knows no state.

import { type ChildProcess, spawn } from "node:child_process";
import OpenAI, { APIError } from "openai";
import type { Response as OpenAiResponse, ResponseStreamEvent } from "openai/resources/responses/responses";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { SIGNALBOX } from "../support/command-line.ts";
import { eventually } from "../support/eventually.ts";
import { type Body, send } from "../support/requests.ts";
import { type Tenant, tenantForTests } from "../support/shared-server.ts";
import { MockRuntime } from "../worker/runtimes/mock-runtime.ts";

const MIB = 1024 * 1024;

let server: Tenant;
let runtime: MockRuntime;
let worker: ChildProcess;

const api = async (method: string, route: string, body?: unknown): Promise<Body> =>
  (await send({ url: server.url, key: server.adminKey }, method, route, body)).body;

const clientOf = (key: string): OpenAI => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: key, maxRetries: 0 });
const openai = (): OpenAI => clientOf(server.adminKey);

beforeAll(async () => {
  runtime = await new MockRuntime({ models: ["m1"] }).start();
  server = await tenantForTests();
  worker = spawn(
    process.execPath,
    [SIGNALBOX, "worker", "--runtime", "vllm", "--provider", "local", "--instance", "w1", "--concurrency", "50"],
    {
      env: {
        PATH: process.env.PATH ?? "",
        SERVICE_API_URL: server.url,
        SERVICE_API_KEY: server.adminKey,
        SERVICE_RUNTIME_URL: runtime.url,
      },
      stdio: "ignore",
    },
  );
  await eventually(async () => {
    const { data: models } = await api("GET", "/v1/models");
    expect(models?.map(({ id }: { id: string }) => id)).toContain("m1");
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

const settled = async (id: string): Promise<OpenAiResponse> =>
  eventually(async () => {
    const now = await openai().responses.retrieve(id);
    expect(["queued", "in_progress"]).not.toContain(now.status);
    return now;
  });

const eventsOf = async (stream: AsyncIterable<ResponseStreamEvent>): Promise<ResponseStreamEvent[]> => {
  const events: ResponseStreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
};

const refusal = async (asked: PromiseLike<unknown>): Promise<APIError> => {
  const error = await Promise.resolve(asked).then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof APIError)) throw new Error(`not refused: ${String(error)}`);
  return error;
};

const textOf = (events: readonly ResponseStreamEvent[]): string =>
  events.map((event) => (event.type === "response.output_text.delta" ? event.delta : "")).join("");

describe("a stored answer", () => {
  test("has the job's id, and is read again until it is deleted", async () => {
    const made = await openai().responses.create({ model: "m1", input: "say hello", metadata: { team: "a" } });
    expect(made.id).toMatch(/^resp_[0-9a-f-]{36}$/);
    const read = await openai().responses.retrieve(made.id);
    expect(read).toEqual(made);
    expect(read).toMatchObject({ status: "completed", output_text: "say hello", store: true, background: false });
    expect(await api("GET", `/api/jobs/${made.id.slice("resp_".length)}`)).toMatchObject({ status: "completed" });
    await openai().responses.delete(made.id);
    expect(await refusal(openai().responses.retrieve(made.id))).toMatchObject({ status: 404, code: "not_found" });
    expect(await refusal(openai().responses.delete(made.id))).toMatchObject({ status: 404 });
  });

  test("is none where the client does not want it stored", async () => {
    const made = await openai().responses.create({ model: "m1", input: "say hello", store: false });
    expect(await refusal(openai().responses.retrieve(made.id))).toMatchObject({ status: 404 });
    const { body } = runtime.calls.at(-1) ?? {};
    expect(body).toMatchObject({ store: false });
  });

  test("has its id in the events of its stream, too", async () => {
    const events = await eventsOf(
      await openai().responses.create({ model: "m1", input: "say hello to all", stream: true }),
    );
    const ids = new Set(events.flatMap((event) => ("response" in event ? [event.response.id] : [])));
    expect(ids.size).toBe(1);
    const [id = ""] = ids;
    expect(id).toMatch(/^resp_[0-9a-f-]{36}$/);
    expect(textOf(events)).toBe("say hello to all");
    expect((await openai().responses.retrieve(id)).output_text).toBe("say hello to all");
  });

  test("lists what it was made from", async () => {
    const first = await openai().responses.create({ model: "m1", input: "one" });
    const second = await openai().responses.create({ model: "m1", input: "two", previous_response_id: first.id });
    const page = await openai().responses.inputItems.list(second.id, { order: "asc", limit: 2 });
    expect(page.data).toHaveLength(2);
    expect(page.data[0]).toMatchObject({
      type: "message",
      role: "user",
      content: [{ type: "input_text", text: "one" }],
    });
    const texts: string[] = [];
    for await (const item of openai().responses.inputItems.list(second.id, { limit: 1 }))
      if (item.type === "message") texts.push(String((item.content as { text: string }[])[0]?.text));
    expect(texts).toEqual(["two", "one", "one"]);
  });

  test("is read whatever its client wants included, as many things as it names", async () => {
    const { id } = await openai().responses.create({ model: "m1", input: "one" });
    const include = ["reasoning.encrypted_content", "message.output_text.logprobs"] as const;
    expect(await openai().responses.retrieve(id, { include: [...include] })).toMatchObject({ id });
    expect((await openai().responses.inputItems.list(id, { include: [...include] })).data).toHaveLength(1);
  });

  test("belongs to the key of a client", async () => {
    const clientNamed = async (name: string): Promise<OpenAI> =>
      clientOf((await api("POST", "/api/keys", { name, role: "client" })).key);
    const [mine, other] = [await clientNamed("one"), await clientNamed("other")];
    const { id } = await mine.responses.create({ model: "m1", input: "mine", background: true });
    await settled(id);
    expect((await mine.responses.retrieve(id)).output_text).toBe("mine");
    const tries = [
      () => other.responses.retrieve(id),
      () => other.responses.cancel(id),
      () => other.responses.delete(id),
      () => other.responses.inputItems.list(id),
    ];
    for (const asked of tries) expect(await refusal(asked())).toMatchObject({ status: 404 });
    const following = other.responses.create({ model: "m1", input: "x", previous_response_id: id });
    expect(await refusal(following)).toMatchObject({ status: 400, param: "previous_response_id" });
  });
});

describe("a response in the background", () => {
  test("is made at once, goes on without its client, and is read when it has ended", async () => {
    runtime.behave = () => ({ headersAfterMs: 300 });
    const made = await openai().responses.create({ model: "m1", input: "say hello", background: true });
    expect(made).toMatchObject({ object: "response", background: true, store: true, output: [], model: "m1" });
    expect(["queued", "in_progress"]).toContain(made.status);
    const ended = await settled(made.id);
    expect(ended).toMatchObject({ id: made.id, status: "completed", background: true, output_text: "say hello" });
    expect(runtime.calls.at(-1)?.body).not.toHaveProperty("background");
  });

  test("waits for a worker beyond the queue's seconds, and is cancelled by its client", async () => {
    await api("PUT", "/config", { front_door: { queue_seconds: 0 } });
    await api("POST", "/api/workers/w1/pause", {});
    const made = await openai().responses.create({ model: "m1", input: "wait", background: true });
    expect(made.status).toBe("queued");
    expect(await openai().responses.cancel(made.id)).toMatchObject({ id: made.id, status: "cancelled" });
    expect(await openai().responses.cancel(made.id)).toMatchObject({ status: "cancelled" });
    await api("POST", "/api/workers/w1/resume", {});
    await api("PUT", "/config", {});
    const whole = await openai().responses.create({ model: "m1", input: "x" });
    expect(await refusal(openai().responses.cancel(whole.id))).toMatchObject({ status: 400 });
  });

  test("streams to a reader that comes back where it left, and again when it has ended", async () => {
    runtime.behave = () => ({ delayMs: 60 });
    const words = Array.from({ length: 20 }, (_, at) => `word${at}`).join(" ");
    const stream = await openai().responses.create({ model: "m1", input: words, background: true, stream: true });
    const seen: ResponseStreamEvent[] = [];
    for await (const event of stream) {
      seen.push(event);
      if (textOf(seen).includes("word3")) break;
    }
    stream.controller.abort();
    const last = seen.at(-1);
    const id = seen.flatMap((event) => ("response" in event ? [event.response.id] : []))[0] ?? "";
    const after = last?.sequence_number ?? 0;
    const rest = await eventsOf(await openai().responses.retrieve(id, { stream: true, starting_after: after }));
    expect(textOf([...seen, ...rest])).toBe(words);
    expect(rest[0]?.sequence_number).toBe(after + 1);
    expect(rest.at(-1)).toMatchObject({ type: "response.completed", response: { id, status: "completed" } });
    const again = await eventsOf(await openai().responses.retrieve(id, { stream: true }));
    expect(textOf(again)).toBe(words);
    expect(again.map(({ sequence_number: number }) => number)).toEqual(again.map((_, at) => at));
    const end = await eventsOf(await openai().responses.retrieve(id, { stream: true, starting_after: 999 }));
    expect(end).toMatchObject([{ type: "response.completed", sequence_number: 1000, response: { id } }]);
  });

  test("tells why it failed", async () => {
    runtime.behave = () => ({ status: 400, errorBody: { error: { message: "too long", code: "context_length" } } });
    const made = await openai().responses.create({ model: "m1", input: "say hello", background: true });
    expect(await settled(made.id)).toMatchObject({ status: "failed", error: { message: "too long" } });
    const events = await eventsOf(await openai().responses.retrieve(made.id, { stream: true }));
    expect(events.at(-1)).toMatchObject({ type: "response.failed", response: { id: made.id, status: "failed" } });
    const following = openai().responses.create({ model: "m1", input: "x", previous_response_id: made.id });
    expect(await refusal(following)).toMatchObject({ status: 400 });
  });

  test("needs to be stored", async () => {
    const asked = openai().responses.create({ model: "m1", input: "x", background: true, store: false });
    expect(await refusal(asked)).toMatchObject({ status: 400, param: "background" });
  });
});

describe("a chain", () => {
  test("reaches the runtime as one input, with the calls of its tools", async () => {
    runtime.behave = () => ({ toolCall: { id: "call_1", name: "weather", arguments: '{"city":"Rome"}' } });
    const asked = await openai().responses.create({ model: "m1", input: "weather in Rome?", instructions: "be brief" });
    const call = asked.output.find(({ type }) => type === "function_call");
    expect(call).toMatchObject({ name: "weather" });
    runtime.behave = () => ({ words: ["sunny"] });
    const told = await openai().responses.create({
      model: "m1",
      previous_response_id: asked.id,
      input: [{ type: "function_call_output", call_id: "call_1", output: "20 degrees" }],
    });
    expect(told.previous_response_id).toBe(asked.id);
    const { body } = runtime.calls.at(-1) ?? {};
    expect(body).not.toHaveProperty("previous_response_id");
    expect(body.store).toBe(false);
    expect(body.input).toMatchObject([
      { role: "user", content: "weather in Rome?" },
      { type: "function_call", call_id: "call_1", name: "weather" },
      { type: "function_call_output", call_id: "call_1", output: "20 degrees" },
    ]);
    const third = await openai().responses.create({ model: "m1", previous_response_id: told.id, input: "and Paris?" });
    expect(third.output_text).toBe("sunny");
    expect(runtime.calls.at(-1)?.body.input).toHaveLength(5);
  });

  test("is refused where a turn is not there, or not complete", async () => {
    const unknown = "resp_019b0000-0000-7000-8000-000000000000";
    for (const id of [unknown, "resp_x", "x"])
      expect(
        await refusal(openai().responses.create({ model: "m1", input: "x", previous_response_id: id })),
      ).toMatchObject({ status: 400, param: "previous_response_id", type: "invalid_request_error" });
    runtime.behave = () => ({ headersAfterMs: 1_000 });
    const open = await openai().responses.create({ model: "m1", input: "x", background: true });
    const early = openai().responses.create({ model: "m1", input: "x", previous_response_id: open.id });
    expect(await refusal(early)).toMatchObject({ status: 400 });
    await settled(open.id);
  });

  test("has at most 8 MiB, and turns over 1 MiB", async () => {
    runtime.behave = () => ({ words: ["read"] });
    const text = "x".repeat(3 * MIB);
    const first = await openai().responses.create({ model: "m1", input: text });
    const input = [{ role: "user" as const, content: text }];
    const second = await openai().responses.create({ model: "m1", input, previous_response_id: first.id });
    const { body } = runtime.calls.at(-1) ?? {};
    expect(body.input.map(({ content }: { content: unknown }) => JSON.stringify(content).length)).toEqual([
      3 * MIB + 2,
      expect.any(Number),
      3 * MIB + 2,
    ]);
    const short = await openai().responses.create({ model: "m1", input: "and?", previous_response_id: second.id });
    expect(runtime.calls.at(-1)?.body.input).toHaveLength(5);
    expect(short.output_text).toBe("read");
    const third = openai().responses.create({ model: "m1", input: text, previous_response_id: short.id });
    expect(await refusal(third)).toMatchObject({ status: 400, param: "previous_response_id" });
    for (const { id } of [first, second, short]) await openai().responses.delete(id);
    expect(await api("GET", "/api/files")).toMatchObject({ total: 0 });
  }, 60_000);
});
