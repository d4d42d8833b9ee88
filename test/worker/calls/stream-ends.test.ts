import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { event } from "../runtimes/fake-runtime.ts";
import { hosted, local, openai, run, serve } from "./chat-fixture.ts";

const chunk = (content: string, finish_reason: string | null = null) =>
  event({ id: "c1", model: "m1", choices: [{ index: 0, delta: { content }, finish_reason }] });
const DONE = event("[DONE]");
const INPUT = { model: "m1", stream: true, messages: [{ role: "user", content: "hi" }] };

const listenRaw = (hear: (socket: Socket) => void) => createTcpServer(hear).listen(0, "127.0.0.1");

const streamed = async (body: string[], after: { hangs?: true; breaksOff?: true } = {}) => {
  const server = await serve(openai(["m1"], () => ({ body, ...after })));
  const emitted: string[] = [];
  const emit = (events: readonly string[]) => void emitted.push(...events);
  const outcome = await run(local("vllm", server.url), { api: "chat/completions", input: INPUT }, { emit });
  return { outcome, events: emitted.join("") };
};

describe("a stream that its runtime ends", () => {
  test.each([
    ["without a reason", [chunk("Hel"), chunk("lo"), DONE]],
    ["without [DONE]", [chunk("Hel"), chunk("lo", "stop")]],
  ])("%s is whole, for its client and for its job", async (_what, body) => {
    const { outcome, events } = await streamed(body);
    expect(outcome).toMatchObject({ ok: true, result: { choices: [{ message: { content: "Hello" } }] } });
    expect(events.match(/\[DONE\]/g)).toHaveLength(1);
  });

  test("without either is not, nor one that says nothing", async () => {
    const { outcome, events } = await streamed([chunk("Hel")]);
    expect(outcome).toMatchObject({ ok: false, error: { code: "runtime_unreachable", status: 502 } });
    expect(events).not.toContain("[DONE]");
    expect((await streamed([DONE])).outcome.ok).toBe(false);
  });

  test("with Gemini's error, a list of one, fails in its words", async () => {
    const { outcome } = await streamed([event([{ error: { code: 503, message: "too busy", status: "UNAVAILABLE" } }])]);
    const message = expect.stringContaining("too busy");
    expect(outcome).toMatchObject({ ok: false, error: { code: "overloaded", status: 503, message, retryable: true } });
  });

  test("that writes an empty reason in each chunk is whole with the last one's, and not before", async () => {
    const cut = await streamed([chunk("Hel", ""), chunk("lo", "")]);
    expect(cut.outcome).toMatchObject({ ok: false, error: { code: "runtime_unreachable", status: 502 } });
    expect(cut.events).not.toContain("[DONE]");
    const role = await streamed([chunk("", "")]);
    expect(role.events).toBe("");
    const whole = await streamed([chunk("Hel", ""), chunk("lo", "stop")]);
    expect(whole.outcome).toMatchObject({ ok: true, result: { choices: [{ finish_reason: "stop" }] } });
  });

  test("with an error that is a chunk of its own is one, though [DONE] follows", async () => {
    const error = { object: "error", message: "the engine died", type: "InternalServerError", code: 500 };
    const { outcome, events } = await streamed([chunk("Hel"), event(error), DONE]);
    expect(outcome).toMatchObject({ ok: false, error: { message: expect.stringContaining("the engine died") } });
    expect(events).not.toContain("[DONE]");
  });

  test.each([
    ["as OpenAI says it", { type: "error", code: "server_error", message: "the engine died", param: null }],
    ["without a type", { error: { code: "server_error", message: "the engine died" } }],
  ])("of responses with an error %s fails in its words", async (_what, error) => {
    const body = [event({ type: "response.output_text.delta", delta: "Hel" }), event(error)];
    const server = await serve(openai(["m1"], () => ({ body })));
    const input = { model: "m1", stream: true, input: "hi" };
    const outcome = await run(local("vllm", server.url), { api: "responses", input });
    expect(outcome).toMatchObject({ ok: false, error: { message: expect.stringContaining("the engine died") } });
  });
});

describe("after [DONE]", () => {
  test.each([
    ["keeps the connection open", { hangs: true }],
    ["cuts the connection", { breaksOff: true }],
  ] as const)("a runtime that %s has answered", async (_what, after) => {
    const { outcome, events } = await streamed([chunk("Hello", "stop"), DONE], after);
    expect(outcome).toMatchObject({ ok: true, result: { choices: [{ message: { content: "Hello" } }] } });
    expect(events.match(/\[DONE\]/g)).toHaveLength(1);
  });

  test("a runtime that goes on for ever has answered", async () => {
    const server = createServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(chunk("Hello", "stop") + DONE);
      const more = setInterval(() => response.write(": more\n\n"), 20);
      response.once("close", () => clearInterval(more));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const outcome = await run(local("vllm", url), { api: "chat/completions", input: INPUT });
    expect(outcome).toMatchObject({ ok: true, result: { choices: [{ message: { content: "Hello" } }] } });
    server.close();
  });

  test("nothing belongs to the answer", async () => {
    const { outcome } = await streamed([chunk("Hello", "stop"), DONE, chunk("late"), event({ error: "late" })]);
    expect(outcome).toMatchObject({ ok: true, result: { choices: [{ message: { content: "Hello" } }] } });
  });

  test("its mark is passed on when the job can be reported, since clients leave then", async () => {
    const server = await serve(openai(["m1"], () => ({ body: [chunk("Hello", "stop"), DONE], hangs: true })));
    const marks: number[] = [];
    const emit = (events: readonly string[]) => {
      if (events.join("").includes("[DONE]")) marks.push(performance.now());
      return undefined;
    };
    await run(local("vllm", server.url), { api: "chat/completions", input: INPUT }, { emit });
    expect(performance.now() - (marks[0] ?? 0)).toBeLessThan(250);
  });
});

test("a stream is one however its content type is written", async () => {
  const headers = { "content-type": "Text/Event-Stream; Charset=UTF-8" };
  const server = await serve(openai(["m1"], () => ({ body: [chunk("Hello", "stop"), DONE], headers })));
  const outcome = await run(local("vllm", server.url), { api: "chat/completions", input: INPUT });
  expect(outcome).toMatchObject({ ok: true, result: { choices: [{ message: { content: "Hello" } }] } });
});

test("an answer that is null is none", async () => {
  const server = await serve(openai(["m1"], () => ({ body: "null", headers: { "content-type": "application/json" } })));
  const input = { model: "m1", messages: [{ role: "user", content: "hi" }] };
  const outcome = await run(local("vllm", server.url), { api: "chat/completions", input });
  expect(outcome).toMatchObject({ ok: false, error: { message: expect.stringContaining("not JSON") } });
});

test.each([
  ["in its first line", "SSH-2.0-OpenSSH_9\r\n"],
  ["in its body", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nno length\r\n"],
])("an answer that is no HTTP %s is one that breaks off", async (_what, said) => {
  const server = listenRaw((socket) => socket.on("data", () => socket.end(said)));
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  for (const runtime of [local("llamacpp", url), hosted("groq", "openai", url)]) {
    const outcome = await run(runtime, { api: "chat/completions", input: INPUT });
    expect(outcome).toMatchObject({ ok: false, error: { code: "runtime_unreachable", retryable: true, status: 502 } });
  }
});

describe("a refusal whose words", () => {
  const limited = { status: 429, headers: { "retry-after": "7" }, body: '{"error": {"message": "slow' };
  const input = { model: "m1", messages: [{ role: "user", content: "hi" }] };
  test.each([
    ["never end", { hangs: true }],
    ["break off", { breaksOff: true }],
  ] as const)(
    "%s is one by its status",
    async (_what, after) => {
      const server = await serve(openai(["m1"], () => ({ ...limited, ...after })));
      const outcome = await run(local("vllm", server.url), { api: "chat/completions", input });
      const error = { code: "rate_limit_exceeded", status: 429, retryable: true, retry_after_seconds: 7 };
      expect(outcome).toMatchObject({ ok: false, error });
      if ("hangs" in after) await server.gone;
    },
    15_000,
  );
});

describe("a runtime that sends events without end is stopped", () => {
  const padding = "x".repeat(60_000);
  test.each([
    ["that say nothing", event({ padding })],
    ["that are comments", `: ${padding}\n\n`],
    ["that say the end again and again", event({ padding, choices: [{ index: 0, finish_reason: "stop" }] })],
  ])("%s", async (_what, body) => {
    const server = createServer((request, response) => {
      if (request.method === "GET") return void response.end(JSON.stringify({ data: [{ id: "m1" }] }));
      response.writeHead(200, { "content-type": "text/event-stream" });
      const more = (): void => {
        while (!response.destroyed && response.write(body));
      };
      response.on("drain", more);
      more();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const outcome = await run(local("vllm", url), { api: "chat/completions", input: INPUT });
    expect(outcome).toMatchObject({ ok: false, error: { code: "result_too_large", retryable: false } });
  });
});
