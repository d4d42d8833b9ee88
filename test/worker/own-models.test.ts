// A command, a TypeScript function and a Python function that answer with text, as models of real AI clients.

import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DIALECTS } from "../../worker/apis/dialects.ts";
import { type ServedWorker, serve } from "../../worker/serve/serve.ts";
import { SIGNALBOX } from "../support/command-line.ts";
import { eventually } from "../support/eventually.ts";
import { lacksPython, type Program, PYTHON, startProgram } from "../support/python.ts";
import { send } from "../support/requests.ts";
import { type Tenant, tenantForTests } from "../support/shared-server.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";

const APIS = ["chat/completions", "completions", "messages", "responses"] as const;

const PYTHONPATH = path.resolve(import.meta.dirname, "../../python");
const PYTHON_WORKER = `
from signalbox import run, worker

@worker(provider="py", models=["python"], instance="py-1", apis=${JSON.stringify(APIS)})
def upper(job, ctx):
    ctx.usage(3, 2)
    for word in job["prompt"].upper().split(" "):
        yield word if word == "HELLO" else " " + word

@worker(provider="vectors", models=["vectors"], instance="py-4", apis=["embeddings"])
def embed(job, ctx):
    data = [{"object": "embedding", "index": at, "embedding": [0.5, -1]} for at, _ in enumerate(job["input"]["input"])]
    return {"object": "list", "model": "vectors", "data": data, "usage": {"prompt_tokens": 2, "total_tokens": 2}}

@worker(provider="own", models=["own form"], instance="py-2", concurrency=2, apis=["chat/completions"], process=True)
def own(job, ctx):
    head = {"id": "own", "created": 1, "model": job["model"]}
    if job["stream"]:
        for text in ("Hel", "lo"):
            yield {**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}}]}
        return
    if job["prompt"] == "nothing": return 5
    if job["prompt"] == "another thing": return {"text": "Hello"}
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}
    return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}

@worker(provider="ears", models=["python ears"], instance="py-3", apis=["audio/transcriptions"])
def hear(job, ctx):
    yield from ("hel", "lo")

run()
`;

const folder = folderForAllTests();
let server: Tenant;
let command: ChildProcess;
let hearing: ChildProcess;
let served: ServedWorker;
let python: Program | null = null;

beforeAll(async () => {
  server = await tenantForTests();
  const env = { PATH: process.env.PATH ?? "", SERVICE_API_URL: server.url, SERVICE_API_KEY: server.adminKey };
  const flags = ["--provider", "upper", "--models", "command", "--instance", "exec-1", "--apis", APIS.join(",")];
  command = spawn(process.execPath, [SIGNALBOX, "worker", "--exec", "tr a-z A-Z", ...flags], { env, stdio: "ignore" });
  const options = { url: server.url, key: server.adminKey, provider: "fn", models: ["function"], apis: APIS };
  served = await serve({ ...options, instance: "fn-1", log: () => {} }, function* ({ prompt }, { usage }) {
    usage({ input_tokens: 3, output_tokens: 2 });
    yield* prompt.toUpperCase().split(/(?= )/);
  });
  const ears = [
    "--provider",
    "ears",
    "--models",
    "command ears",
    "--instance",
    "exec-2",
    "--apis",
    "audio/transcriptions",
  ];
  hearing = spawn(process.execPath, [SIGNALBOX, "worker", "--exec", "printf hello", ...ears], { env, stdio: "ignore" });
  if (!lacksPython) {
    const file = path.join(folder.path, "own.py");
    writeFileSync(file, PYTHON_WORKER);
    python = startProgram(file, { ...env, PYTHONPATH });
  }
  await eventually(async () => {
    const { body } = await send({ url: server.url, key: server.adminKey }, "GET", "/v1/models");
    const pythons = lacksPython ? [] : ["python", "own form", "python ears", "vectors"];
    const models = ["command", "command ears", "function", ...pythons];
    expect(
      body.data.map(({ id }: { id: string }) => id),
      python?.output(),
    ).toEqual(expect.arrayContaining(models));
  });
}, 90_000);

afterAll(async () => {
  command?.kill("SIGKILL");
  hearing?.kill("SIGKILL");
  await served?.close();
  await python?.stop();
  await server?.close();
});

const openai = () => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: server.adminKey, maxRetries: 0 });
const anthropic = () => new Anthropic({ baseURL: server.url, apiKey: server.adminKey, maxRetries: 0 });
const messages = [{ role: "user" as const, content: "hello to all" }];

const textOf = ({ content: [block] }: Anthropic.Message) => (block?.type === "text" ? block.text : null);

describe.each([
  { model: "command", counted: false, isSkipped: false },
  { model: "function", counted: true, isSkipped: false },
  { model: "python", counted: true, isSkipped: lacksPython },
])("the model $model", ({ model, counted, isSkipped }) => {
  test.skipIf(isSkipped)("answers chats, plain and in a stream", async () => {
    const plain = await openai().chat.completions.create({ model, messages });
    expect(plain).toMatchObject({ object: "chat.completion", model });
    expect(plain.choices).toMatchObject([{ message: { content: "HELLO TO ALL" }, finish_reason: "stop" }]);
    expect(plain.usage?.total_tokens).toBe(counted ? 5 : undefined);
    const stream = openai().chat.completions.stream({ model, messages, stream_options: { include_usage: true } });
    const told = await stream.finalChatCompletion();
    expect(told.choices[0]?.message.content).toBe("HELLO TO ALL");
    expect(told.usage?.total_tokens).toBe(counted ? 5 : undefined);
  });

  test.skipIf(isSkipped)("answers completions, plain and in a stream", async () => {
    const plain = await openai().completions.create({ model, prompt: "hello to all" });
    expect(plain).toMatchObject({ object: "text_completion", model });
    expect(plain.choices).toMatchObject([{ text: "HELLO TO ALL", finish_reason: "stop" }]);
    expect(plain.usage?.total_tokens).toBe(counted ? 5 : undefined);
    let said = "";
    for await (const { choices } of await openai().completions.create({ model, prompt: "hello to all", stream: true }))
      said += choices[0]?.text ?? "";
    expect(said).toBe("HELLO TO ALL");
    for (const stream of [true, false])
      await expect(openai().completions.create({ model, prompt: ["hello", "to all"], stream })).rejects.toThrow(
        /^400 prompt: /,
      );
  });

  test.skipIf(isSkipped)("answers messages, plain and in a stream", async () => {
    const asked = { model, messages, max_tokens: 9 };
    const plain = await anthropic().messages.create(asked);
    expect(textOf(plain)).toBe("HELLO TO ALL");
    expect(plain).toMatchObject({ stop_reason: "end_turn", usage: { output_tokens: counted ? 2 : 0 } });
    const told = await anthropic().messages.stream(asked).finalMessage();
    expect(textOf(told)).toBe("HELLO TO ALL");
    expect(told.usage).toMatchObject({ input_tokens: counted ? 3 : 0, output_tokens: counted ? 2 : 0 });
  });

  test.skipIf(isSkipped)("answers responses, plain and in a stream", async () => {
    const plain = await openai().responses.create({ model, input: "hello to all" });
    expect(plain).toMatchObject({ status: "completed", output_text: "HELLO TO ALL" });
    const told = await openai().responses.stream({ model, input: "hello to all" }).finalResponse();
    expect(told).toMatchObject({ status: "completed", output_text: "HELLO TO ALL" });
  });
});

test.skipIf(lacksPython)("a Python function gets a request whose input is no text and no list", async () => {
  const asked = openai().responses.create({ model: "python", input: 7 as never });
  expect(await asked).toMatchObject({ status: "completed" });
});

test.skipIf(lacksPython)("a Python function's vectors have the form that a client asks for", async () => {
  for (const [encoding_format, embedding] of [
    ["float", [0.5, -1]],
    ["base64", "AAAAPwAAgL8="],
  ]) {
    const asked = { model: "vectors", input: ["a", "b"], encoding_format };
    const { body } = await send({ url: server.url, key: server.adminKey }, "POST", "/v1/embeddings", asked);
    expect(body.data).toMatchObject([{ embedding }, { embedding }]);
  }
});

test.skipIf(lacksPython)("a Python function's vectors with what is no number of four bytes are told in no form", () => {
  const program = `
import json; from signalbox._answers import vectors_as_asked
given = [[0.5, 1], [float("nan")], [float("-inf")], [1e300], [10**400], ["1"], []]
told = vectors_as_asked({"encoding_format": "base64"}, {"data": [{"embedding": one} for one in given]})
print(json.dumps([isinstance(one["embedding"], str) for one in told["data"]]))`;
  const told = execFileSync(PYTHON, ["-c", program], { env: { PATH: process.env.PATH, PYTHONPATH }, encoding: "utf8" });
  expect(JSON.parse(told)).toEqual([true, false, false, false, false, false, true]);
});

test.skipIf(lacksPython)("a Python function's answer has what that of any other program has", () => {
  const program = "import json; from signalbox._answers import ANSWER_HAS; print(json.dumps(ANSWER_HAS))";
  const told = execFileSync(PYTHON, ["-c", program], { env: { PATH: process.env.PATH, PYTHONPATH }, encoding: "utf8" });
  // Of some APIs it is a list.
  const namesOf = (paths: readonly string[]) =>
    [...new Set(paths.map((one) => one.split(".")[0]))].filter((name) => name !== "0");
  expect(JSON.parse(told)).toEqual(
    Object.fromEntries(Object.entries(DIALECTS).map(([api, { answerHas }]) => [api, namesOf(answerHas)])),
  );
});

describe.skipIf(lacksPython)("a Python function that writes an API's own form", () => {
  const model = "own form";

  test("is passed on, with its counts and the end of its stream", async () => {
    const plain = await openai().chat.completions.create({ model, messages });
    expect(plain).toMatchObject({ id: "own", choices: [{ message: { content: "Hello" } }] });
    const { body } = await send({ url: server.url, key: server.adminKey }, "GET", "/api/jobs?provider=own&limit=1");
    expect(body.jobs).toMatchObject([{ usage: { input_tokens: 7, output_tokens: 1 } }]);
    let said = "";
    for await (const chunk of await openai().chat.completions.create({ model, messages, stream: true }))
      said += chunk.choices[0]?.delta.content ?? "";
    expect(said).toBe("Hello");
  });

  test.each(["nothing", "another thing"])("fails the job where it is %s", async (content) => {
    const asked = openai().chat.completions.create({ model, messages: [{ role: "user", content }] });
    await expect(asked).rejects.toThrow("There is no answer of chat/completions");
  });
});

describe.each([
  { model: "command ears", isSkipped: false },
  { model: "python ears", isSkipped: lacksPython },
])("text of the model $model", ({ model, isSkipped }) => {
  const asked = async () => ({ model, file: await toFile(Buffer.from("s"), "s.wav") });

  test.skipIf(isSkipped)("is a transcript in the form that its client asks for", async () => {
    const { transcriptions } = openai().audio;
    expect(await transcriptions.create(await asked())).toEqual({ text: "hello" });
    expect(await transcriptions.create({ ...(await asked()), response_format: "text" })).toBe("hello");
  });

  test.skipIf(isSkipped)("is a transcript's events for who asks for a stream", async () => {
    const types: string[] = [];
    for await (const event of await openai().audio.transcriptions.create({ ...(await asked()), stream: true }))
      types.push(event.type);
    expect(types).toEqual(["transcript.text.delta", "transcript.text.done"]);
  });
});

test.skipIf(lacksPython)("a Python function's text before what is no answer does not end as a whole stream", () => {
  const script = `
from signalbox._context import Context, Fail
ctx = Context({"api": "chat/completions", "stream": True, "model": "m"})
ctx._write = print
ctx.emit("Hel")
try: ctx._answer(5)
except Fail as fail: print(fail.code)
`;
  const { stdout, stderr } = spawnSync(PYTHON, ["-c", script], {
    encoding: "utf8",
    env: { ...process.env, PYTHONPATH },
  });
  expect(stderr).toBe("");
  expect(stdout).toMatch(/Hel.*\nbad_output\n$/);
});
