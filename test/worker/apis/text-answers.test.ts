// A program that answers with text, as the client of each API reads it.

import { spawnSync } from "node:child_process";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { saysItsEnd } from "../../../contract/front-door/dialect.ts";
import { dataOf } from "../../../contract/text/event-text.ts";
import { readPath } from "../../../contract/words/values.ts";
import { DIALECTS } from "../../../worker/apis/dialects.ts";
import { lastUserText, TEXT_ANSWERS, type TextApi } from "../../../worker/apis/text-answers.ts";
import type { Outcome } from "../../../worker/calls/runtime.ts";
import { listedFiles } from "../../../worker/once.ts";
import { createFunctionRuntime } from "../../../worker/serve/function-runtime.ts";
import type { Handler } from "../../../worker/serve/handler.ts";
import { lacksPython, PYTHON } from "../../support/python.ts";
import { node, runCommand } from "../exec/exec-fixture.ts";
import { assignedJob } from "../job-fixture.ts";
import { quietRun, taskOf } from "../runtimes/quiet-run.ts";

const APIS = Object.keys(TEXT_ANSWERS) as TextApi[];

const TEXT_AT: Readonly<Record<TextApi, string>> = {
  "chat/completions": "choices.0.message.content",
  completions: "choices.0.text",
  messages: "content.0.text",
  responses: "output.0.content.0.text",
};

/** As little of it as an answer has. */
const OWN_FORM: Readonly<Record<TextApi, object>> = {
  "chat/completions": { choices: [{ message: { role: "assistant", content: null } }] },
  completions: { choices: [{ text: "" }] },
  messages: { content: [] },
  responses: { output: [] },
};

/** What a client puts together from the events. */
const assembled = (api: TextApi, events: readonly string[]): unknown => {
  const assembly = DIALECTS[api].assemble?.();
  for (const event of events) assembly?.take(dataOf(event));
  return assembly?.result();
};

const served = async (api: TextApi, handler: Handler, input: object = {}) => {
  const events: string[] = [];
  const runtime = createFunctionRuntime({
    handler,
    name: "fn",
    url: "http://127.0.0.1:9",
    concurrency: 1,
    models: ["own"],
    apis: [api],
    files: listedFiles().keep,
    log: () => {},
    onStuck: () => {},
  });
  const task = taskOf({ api, input, model: null, job: assignedJob({ id: "j", api, stream: true }) });
  const outcome = await runtime.run(task, quietRun({ emit: (some) => void events.push(...some) }));
  return { outcome, events };
};

const textOf = (api: TextApi, outcome: Outcome): unknown => outcome.ok && readPath(outcome.result, TEXT_AT[api]);

describe.each(APIS)("of %s", (api) => {
  test.each<[string, Handler]>([
    ["returned", () => "Hel {lo}"],
    [
      "emitted in pieces, one of which is a brace",
      function* () {
        yield* ["Hel", " ", "{", "lo}"];
      },
    ],
    ["emitted, and nothing returned but null", (_, { emit }) => emit("Hel {lo}").then(() => null)],
  ])("text that is %s is the whole answer, and a stream with its end", async (_, handler) => {
    const { outcome, events } = await served(api, handler);
    expect(textOf(api, outcome)).toBe("Hel {lo}");
    expect(outcome).toMatchObject({ ok: true, model: "own", result: { model: "own" } });
    expect(assembled(api, events)).toEqual(outcome.ok && outcome.result);
    expect(saysItsEnd(api, events.at(-1) ?? "")).toBe(true);
  });

  test("the counts that a program tells are in the answer and its job's", async () => {
    const { outcome } = await served(api, (_, { usage }) => {
      usage({ input_tokens: 3, output_tokens: 2 });
      return "Hello";
    });
    expect(outcome).toMatchObject({ usage: { input_tokens: 3, output_tokens: 2 } });
    expect(outcome.ok && DIALECTS[api].spentOf(outcome.result).usage).toMatchObject({
      input_tokens: 3,
      output_tokens: 2,
    });
  });

  test("uncounted, the job has no counts", async () => {
    const { outcome } = await served(api, () => "Hello");
    expect(outcome.ok && outcome.usage).toBe(undefined);
  });

  test("an answer of the API's own form is passed on as it is, and ends what was said before", async () => {
    const whole = OWN_FORM[api];
    const { outcome, events } = await served(api, async (_, { emit }) => {
      await emit("Hello");
      return whole;
    });
    expect(outcome).toMatchObject({ ok: true, result: whole });
    expect(saysItsEnd(api, events.at(-1) ?? "")).toBe(true);
  });

  test.each([{ text: "Hel {lo}" }, ["Hel"], { error: { message: "no" } }])("%j is no answer", async (result) => {
    for (const said of ["", "Hello"]) {
      const { outcome, events } = await served(api, (_, { emit }) => emit(said).then(() => result));
      expect(outcome).toMatchObject({ ok: false, error: { code: "bad_output" } });
      expect(saysItsEnd(api, events.at(-1) ?? "")).toBe(false);
    }
    const program = node(`console.log(JSON.stringify(${JSON.stringify({ result })}))`);
    const { outcome, told } = await runCommand(program, { apis: api }, { api, job: assignedJob({ id: "j", api }) });
    expect(outcome).toMatchObject({ ok: false, error: { code: "bad_output" } });
    expect(told).toEqual([]);
  });

  test("a command answers with its output", async () => {
    const job = assignedJob({ id: "j", api, stream: true });
    const { outcome, told } = await runCommand("tr a-z A-Z", { apis: api }, { api, job, prompt: "hi" });
    expect(textOf(api, outcome)).toBe("HI");
    expect(assembled(api, told)).toEqual(outcome.ok && outcome.result);
    const instructed = await runCommand(
      node(`console.log(JSON.stringify({ result: "one" }))`),
      { apis: api, stdout: "json" },
      { api, job },
    );
    expect(textOf(api, instructed.outcome)).toBe("one");
  });

  test("a command that ends its text with a null has answered with the text", async () => {
    const told = [{ text: "one" }, { result: null }].map(
      (one) => `console.log(JSON.stringify(${JSON.stringify(one)}));`,
    );
    const job = assignedJob({ id: "j", api });
    const { outcome } = await runCommand(node(told.join("")), { apis: api, stdout: "json" }, { api, job });
    expect(textOf(api, outcome)).toBe("one");
  });

  test("a command that says nothing has said nothing", async () => {
    const job = assignedJob({ id: "j", api });
    expect(textOf(api, (await runCommand("true", { apis: api }, { api, job })).outcome)).toBe("");
    const silent = await runCommand("true", { apis: api, stdout: "json" }, { api, job });
    expect(silent.outcome).toMatchObject({ ok: false, error: { code: "bad_output" } });
  });
});

test("a program gets all that the user said last, however much the job itself keeps of it", async () => {
  const long = "word ".repeat(1_000);
  const messages = [
    { role: "user", content: "before" },
    { role: "assistant", content: "yes" },
    { role: "user", content: [{ type: "text", text: long }, { type: "image_url" }] },
  ];
  const { outcome } = await served("chat/completions", ({ prompt }) => `${prompt.length}`, { messages });
  expect(textOf("chat/completions", outcome)).toBe(`${long.length}`);
  const job = assignedJob({ id: "j", api: "chat/completions" });
  const { outcome: counted } = await runCommand("wc -c", {}, { api: "chat/completions", job, input: { messages } });
  expect(textOf("chat/completions", counted)).toMatch(/^ *5000\n$/);
});

const REMINDER = { type: "text", text: "<system-reminder>\nIt is Sunday.\n</system-reminder>" };

const LAST_TEXTS: [object, string][] = [
  [{ prompt: "a" }, "a"],
  [
    { messages: [{ role: "user", content: [{ type: "text", text: "a" }, REMINDER, { type: "text", text: "b" }] }] },
    "a\nb",
  ],
  [
    {
      messages: [
        { role: "user", content: "a" },
        { role: "user", content: [{ type: "tool_result" }, REMINDER] },
      ],
    },
    "a",
  ],
  [{ input: 7 }, ""],
  [{ input: [{ role: "user", content: [{ type: "input_text", text: "b" }] }] }, "b"],
  [{ messages: [{ role: "system", content: "c" }] }, ""],
  [{}, ""],
];

test.each(LAST_TEXTS)("the last text of %j", (body, text) => {
  expect(lastUserText(body as never)).toBe(text);
});

test.skipIf(lacksPython)("a Python function gets the same last texts", () => {
  const script = `
import json, sys
from signalbox._answers import last_user_text
print(json.dumps([last_user_text(body) for body in json.load(sys.stdin)]))
`;
  const input = JSON.stringify(LAST_TEXTS.map(([body]) => body));
  const env = { ...process.env, PYTHONPATH: path.resolve(import.meta.dirname, "../../../python") };
  const { stdout, stderr } = spawnSync(PYTHON, ["-c", script], { input, encoding: "utf8", env });
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual(LAST_TEXTS.map(([, text]) => text));
});
