// What a handler that answers the front door's requests says, as its client reads it.

import { describe, expect, test } from "vitest";
import type { Api } from "../../../contract/words/values.ts";
import { listedFiles } from "../../../worker/once.ts";
import { createFunctionRuntime } from "../../../worker/serve/function-runtime.ts";
import type { Handler } from "../../../worker/serve/handler.ts";
import { assignedJob } from "../job-fixture.ts";
import { quietRun, taskOf } from "../runtimes/quiet-run.ts";

const said = async (api: Api, handler: Handler, stream = true): Promise<string[]> =>
  (await answered(api, handler, stream)).events;

const runtimeOf = (handler: Handler, apis: readonly Api[], files = listedFiles().keep) =>
  createFunctionRuntime({
    handler,
    name: "fn",
    url: "http://127.0.0.1:9",
    concurrency: 1,
    models: [],
    apis,
    files,
    log: () => {},
    onStuck: () => {},
  });

/** The outcome of an ordinary job. */
const ended = (handler: Handler, files = listedFiles().keep) =>
  runtimeOf(handler, [], files).run(taskOf({ api: null, job: assignedJob({ id: "j" }) }), quietRun());

const answered = async (api: Api, handler: Handler, stream = true) => {
  const said = await run(api, handler, stream);
  expect(said.outcome.ok).toBe(true);
  return said;
};

const run = async (api: Api, handler: Handler, stream = true) => {
  const runtime = runtimeOf(handler, [api]);
  const events: string[] = [];
  const emit = (some: readonly string[]) => void events.push(...some);
  const task = taskOf({ api, job: assignedJob({ id: "j", api, stream }) });
  return { outcome: await runtime.run(task, quietRun({ emit })), events };
};

const ANSWERS_IN_CHUNKS: Handler = async (_, { emit }) => {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason }],
  });
  await emit(chunk({ content: "Hel" }));
  await emit(chunk({ content: "lo" }, "stop"));
  await emit({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } });
};

test("a stream of chunks has its end, which the handler may have written itself", async () => {
  const chunk = { choices: [{ index: 0, delta: { content: "hi" } }] };
  const events = [`data: ${JSON.stringify(chunk)}\n\n`, "data: [DONE]\n\n"];
  expect(await said("chat/completions", (_, { emit }) => emit(chunk))).toEqual(events);
  const whole: Handler = async (_, { emit }) => {
    await emit(chunk);
    await emit("[DONE]");
  };
  expect(await said("chat/completions", whole)).toEqual(events);
});

test("an event of an API that names its events has its type as its name", async () => {
  const stop = { type: "message_stop" };
  expect(await said("messages", (_, { emit }) => emit(stop))).toEqual([
    `event: message_stop\ndata: ${JSON.stringify(stop)}\n\n`,
  ]);
});

test("a handler that emits nothing says nothing", async () => {
  expect(await said("chat/completions", () => ({ choices: [{ message: {} }] }), false)).toEqual([]);
});

test.each([5, true, ["a"]])("a handler that emits %j, neither text nor a chunk, is told so", async (part) => {
  const outcome = await ended((_, { emit }) => emit(part as never));
  expect(outcome).toMatchObject({
    ok: false,
    error: { message: expect.stringContaining("emit takes text or a chunk") },
  });
});

test("the whole answer of a stream, and its counts, are its job's", async () => {
  const { outcome } = await answered("chat/completions", ANSWERS_IN_CHUNKS);
  expect(outcome).toMatchObject({
    result: { object: "chat.completion", choices: [{ message: { content: "Hello" }, finish_reason: "stop" }] },
    usage: { input_tokens: 3, output_tokens: 2 },
  });
});

test("chunks make the whole answer for a client that asked for no stream", async () => {
  const { outcome } = await answered("chat/completions", ANSWERS_IN_CHUNKS, false);
  expect(outcome).toMatchObject({
    result: { object: "chat.completion", choices: [{ message: { content: "Hello" } }] },
  });
});

test.each<[string, Handler, boolean]>([
  ["nothing", () => undefined, false],
  ["nothing", () => undefined, true],
  ["null", () => null, true],
  ["a number", () => 5, false],
  ["another object", () => ({ text: "Hello" }), false],
  ["another object", () => ({ text: "Hello" }), true],
])("%s in place of an answer fails the job (%j, a stream: %j)", async (_, handler, stream) => {
  const { outcome } = await run("chat/completions", handler, stream);
  expect(outcome).toMatchObject({ ok: false, error: { code: "bad_output", retryable: false } });
});

test("an object that is no answer fails the job behind its chunks, too, whose end nobody is told", async () => {
  const handler: Handler = (_, { emit }) => emit({ choices: [{ delta: { content: "Hel" } }] }).then(() => ({ ok: 1 }));
  const { events, outcome } = await run("chat/completions", handler);
  expect(outcome).toMatchObject({ ok: false, error: { code: "bad_output" } });
  expect(events).toEqual([expect.stringContaining("Hel")]);
});

test("nothing in place of a transcript fails the job, and text does not", async () => {
  expect(await run("audio/transcriptions", () => null, false)).toMatchObject({
    outcome: { ok: false, error: { code: "bad_output" } },
  });
  for (const handler of [
    () => "Hello",
    function* () {
      yield* ["Hel", "lo"];
    },
  ] satisfies Handler[])
    expect((await answered("audio/transcriptions", handler, false)).outcome).toMatchObject({
      result: { text: "Hello" },
    });
});

test("a transcript that is text is an answer of which a client that asked for a stream gets events", async () => {
  const { outcome } = await answered("audio/transcriptions", () => "Hello", true);
  expect(outcome).toMatchObject({ result: { text: "Hello" } });
});

test("text before what is no answer does not end as a whole stream", async () => {
  const { outcome, events } = await run("chat/completions", (_, { emit }) => emit("Hello").then(() => 5));
  expect(outcome).toMatchObject({ ok: false, error: { code: "bad_output" } });
  expect(events.join("")).toContain("Hello");
  expect(events.join("")).not.toContain("stop");
});

test.each([
  ["base64", "AAAAPwAAgL8="],
  ["float", [0.5, -1]],
])("vectors that a handler writes as lists are told as %s to a client that asks for it", async (format, told) => {
  const given = { data: [{ index: 0, embedding: [0.5, -1] }], usage: { prompt_tokens: 1 } };
  const task = taskOf({ api: "embeddings", input: { encoding_format: format }, job: assignedJob({ id: "j" }) });
  const outcome = await runtimeOf(() => given, ["embeddings"]).run(task, quietRun());
  expect(outcome).toMatchObject({ ok: true, result: { data: [{ index: 0, embedding: told }] } });
});

test("text in place of sound fails the job", async () => {
  expect(await run("audio/speech", () => "Hello", false)).toMatchObject({
    outcome: { ok: false, error: { code: "bad_output" } },
  });
});

test.each<[Api, object, boolean]>([
  ["images/generations", { type: "image_generation.completed", b64_json: "aGk=" }, false],
  ["audio/speech", { type: "speech.audio.done" }, false],
  ["audio/transcriptions", { type: "transcript.text.done", text: "Hello" }, true],
])("the last event of %s is an answer only where a client can read it as one", async (api, last, isOne) => {
  const handler: Handler = (_, { emit }) => emit(last as Record<string, unknown>);
  expect((await run(api, handler, false)).outcome.ok).toBe(isOne);
  expect((await run(api, handler, true)).outcome.ok).toBe(true);
});

test("chunks without their end are no answer for a client that asked for no stream", async () => {
  const { outcome } = await run("messages", (_, { emit }) => emit({ type: "ping" }), false);
  expect(outcome).toMatchObject({ ok: false, error: { code: "bad_output" } });
});

test("text where an answer has none fails the job, and no client sees it", async () => {
  const { events, outcome } = await run("embeddings", (_, { emit }) => emit("Hello"), false);
  expect(events).toEqual([]);
  expect(outcome).toMatchObject({
    ok: false,
    error: { message: expect.stringContaining("a chunk, which is an object") },
  });
});

test.each(["text", "a chunk"])("an answer is all text or all chunks: %s comes first", async (first) => {
  const parts = ["Hello", { choices: [{ index: 0, delta: { content: "!" } }] }];
  const { outcome } = await run("chat/completions", function* () {
    yield* first === "text" ? parts : parts.toReversed();
  });
  expect(outcome).toMatchObject({ ok: false, error: { message: expect.stringContaining("as text or as chunks") } });
});

test("a chunk may be emitted as JSON, and text that is empty is none", async () => {
  const stop = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}';
  const events = [`data: ${stop}\n\n`, "data: [DONE]\n\n"];
  expect(await said("chat/completions", (_, { emit }) => emit(stop))).toEqual(events);
  const passedOn: Handler = async (_, { emit }) => {
    await emit(` ${stop}`);
    await emit("");
    await emit(" [DONE]");
  };
  expect(await said("chat/completions", passedOn)).toEqual(events);
});

test("a text that is JSON, as an answer in a schema is, is no chunk of another API", async () => {
  const given = '{"type":"cat"}';
  const { outcome } = await answered("chat/completions", (_, { emit }) => emit(given), false);
  expect(outcome).toMatchObject({ ok: true, result: { choices: [{ message: { content: given } }] } });
  for (const text of ['{"choices":["cat"]}', given, '{"error":"none"}']) {
    const other = await answered("messages", (_, { emit }) => emit(text), false);
    expect(other.outcome).toMatchObject({ ok: true, result: { content: [{ text }] } });
  }
});

test.each(["keepalive", "response.code_interpreter_call_code.delta", "error"])(
  "an event of the type %s is one, also as JSON",
  async (type) => {
    const event = JSON.stringify({ type });
    expect((await run("responses", (_, { emit }) => emit(event))).events).toEqual([`data: ${event}\n\n`]);
  },
);

test("what an answer says of its counts are its job's, unless the handler said otherwise", async () => {
  const told = { choices: [{ message: {} }], model: "m1", usage: { prompt_tokens: 3, completion_tokens: 2 } };
  const { outcome } = await answered("chat/completions", () => told, false);
  expect(outcome).toMatchObject({ result: told, model: "m1", usage: { input_tokens: 3, output_tokens: 2 } });
  const own = await answered(
    "images/generations",
    (_, { usage }) => {
      usage({ input_tokens: 7, output_tokens: 8 });
      return { data: [], usage: { input_tokens: 1, output_tokens: 1 } };
    },
    false,
  );
  expect(own.outcome).toMatchObject({ usage: { input_tokens: 7, output_tokens: 8 } });
});

test("a count that a handler does not know is none", async () => {
  const { outcome } = await answered("chat/completions", (_, { usage }) => {
    usage({ output_tokens: 2, cached_input_tokens: Number.NaN } as never);
    return "Hello";
  });
  expect(outcome).toMatchObject({ usage: { input_tokens: 0, output_tokens: 2, cached_input_tokens: 0 } });
});

test.each([
  ["no number", { scores: [1, Number.NaN] }, '"1" is NaN'],
  ["a map", { found: new Map([["a", 1]]) }, '"found" is a Map'],
  ["a set", new Set([1]), "it is a Set"],
  ["a promise that nobody waited for", { later: Promise.resolve(1) }, '"later" is a Promise'],
  ["an error", [new Error("no")], '"0" is a Error'],
  ["a function", () => 1, "it is a function"],
  ["a bigint", { id: 1n }, "BigInt"],
])("%s as a result fails the job with words", async (_, result, words) => {
  const outcome = await ended(() => result);
  expect(outcome).toMatchObject({ ok: false, error: { code: "bad_output", retryable: false } });
  expect(JSON.stringify(outcome)).toContain(JSON.stringify(words).slice(1, -1));
});

test("a result is what JSON makes of it: fields of a class, a date as text, nothing of what is empty", async () => {
  class Found {
    readonly at = new Date(0);
    readonly none = {};
    readonly left = undefined;
  }
  expect(await ended(() => [new Found(), Object.create(null)])).toMatchObject({
    ok: true,
    result: [{ at: "1970-01-01T00:00:00.000Z", none: {} }, {}],
  });
});

describe("a file that could not be kept", () => {
  const files = {
    ...listedFiles().keep,
    send: async () => ({
      ok: false as const,
      error: { code: "file_too_large", message: "too large", retryable: false },
    }),
  };

  test.each<[string, Handler, boolean]>([
    [
      "nobody waits for",
      async (_, { file }) => {
        void file("a", "a.txt");
        await new Promise((resolve) => setTimeout(resolve, 20));
        return "done";
      },
      false,
    ],
    [
      "its handler waits for too late",
      async (_, { file }) => {
        const keeping = file("a", "a.txt");
        await new Promise((resolve) => setTimeout(resolve, 20));
        await keeping;
      },
      false,
    ],
    [
      "its handler does without",
      async (_, { file }) => {
        const keeping = file("a", "a.txt");
        await new Promise((resolve) => setTimeout(resolve, 20));
        await keeping.catch(() => null);
        return "done";
      },
      true,
    ],
  ])("and that %s", async (_, handler, isOk) => {
    const outcome = await ended(handler, files);
    expect(outcome.ok).toBe(isOk);
    if (!outcome.ok) expect(outcome.error.code).toBe("file_too_large");
  });
});
