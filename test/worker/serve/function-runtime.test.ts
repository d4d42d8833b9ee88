// What a handler that answers the front door's requests says, as its client reads it.

import { expect, test } from "vitest";
import type { Api } from "../../../contract/words/values.ts";
import { listedFiles } from "../../../worker/once.ts";
import { createFunctionRuntime } from "../../../worker/serve/function-runtime.ts";
import type { Handler } from "../../../worker/serve/handler.ts";
import { assignedJob } from "../job-fixture.ts";
import { quietRun, taskOf } from "../runtimes/quiet-run.ts";

const said = async (api: Api, handler: Handler, stream = true): Promise<string[]> =>
  (await answered(api, handler, stream)).events;

const answered = async (api: Api, handler: Handler, stream = true) => {
  const runtime = createFunctionRuntime({
    handler,
    name: "fn",
    url: "http://127.0.0.1:9",
    concurrency: 1,
    models: [],
    apis: [api],
    files: listedFiles().keep,
    log: () => {},
    onStuck: () => {},
  });
  const events: string[] = [];
  const emit = (some: readonly string[]) => void events.push(...some);
  const task = taskOf({ api, job: assignedJob({ id: "j", api, stream }) });
  const outcome = await runtime.run(task, quietRun({ emit }));
  expect(outcome.ok).toBe(true);
  return { events, outcome };
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
  expect(await said("chat/completions", () => ({ choices: [] }), false)).toEqual([]);
});

test("the whole answer of a stream, and its counts, are its job's", async () => {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason }],
  });
  const { outcome } = await answered("chat/completions", async (_, { emit }) => {
    await emit(chunk({ content: "Hel" }));
    await emit(chunk({ content: "lo" }, "stop"));
    await emit({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } });
  });
  expect(outcome).toMatchObject({
    result: { object: "chat.completion", choices: [{ message: { content: "Hello" }, finish_reason: "stop" }] },
    usage: { input_tokens: 3, output_tokens: 2 },
  });
});
