// A function as a worker, as its author starts it: against a coordinator in memory, over the loop of the worker process.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { VERSION } from "../../../contract/words/version.ts";
import { Fail, type Handler, Retry, type ServedWorker, serve } from "../../../worker/serve/serve.ts";
import type { WorkerMessage } from "../../../worker/session/session.ts";
import { FakeCoordinator, KEY } from "../fake-coordinator.ts";
import { assignedJob } from "../job-fixture.ts";

const SERVE = fileURLToPath(new URL("../../../worker/serve/serve.ts", import.meta.url));

let coordinator: FakeCoordinator;
let worker: ServedWorker | null = null;
const logged: string[] = [];

beforeEach(async () => {
  coordinator = new FakeCoordinator();
  await coordinator.start();
});
afterEach(async () => {
  await worker?.close();
  worker = null;
  logged.length = 0;
  await coordinator.stop();
});

const start = async (handler: Handler, options = {}) => {
  const log = (line: string) => void logged.push(line);
  worker = await serve({ url: coordinator.url, key: KEY, provider: "fn", instance: "w1", log, ...options }, handler);
  return worker;
};

const assign = (prompt: string, fields = {}) => coordinator.assign(assignedJob({ id: prompt, prompt, ...fields }));
const isReport = (one: WorkerMessage) => one.type === "job.completed" || one.type === "job.failed";

test("what the handler returns is the result, with what it spent", async () => {
  await start(
    (job, context) => {
      context.usage({ input_tokens: 1, output_tokens: 2 });
      context.cost(0.5);
      return { said: job.prompt, attempt: job.attempt };
    },
    { models: ["m1"], tags: ["gpu", "eu"], concurrency: 3 },
  );
  expect(await coordinator.waitFor("presence")).toMatchObject({
    instance: "w1",
    provider: "fn",
    tags: "gpu,eu",
    models: ["m1"],
    concurrency: 3,
  });
  assign("hi");
  expect(await coordinator.waitFor("job.completed")).toMatchObject({
    job_id: "hi",
    result: { said: "hi", attempt: 1 },
    usage: { input_tokens: 1, output_tokens: 2 },
    cost_usd: 0.5,
    model: "m1",
  });
});

test("a coordinator of another version is named once in the log, with what has that version", async () => {
  coordinator.health = { status: 200, body: { status: "ok", version: "9.9.9" } };
  await start(() => "x");
  const address = `${coordinator.url}/signalbox.tgz?9.9.9`;
  const said = `this is version ${VERSION}, the coordinator is 9.9.9: npm install --allow-remote=root ${address} has the same version`;
  await expect.poll(() => logged.filter((line) => line.includes("9.9.9"))).toEqual([said]);
});

test("a generator's parts are its text, and what it returns is the result", async () => {
  const parts = async function* (job: { prompt: string }) {
    yield "a";
    yield "b";
    return job.prompt === "told" ? { whole: true } : undefined;
  };
  await start(parts);
  assign("hi");
  expect(await coordinator.waitFor("job.completed")).toMatchObject({ job_id: "hi", result: "ab" });
  assign("told");
  expect(await coordinator.waitFor("job.completed", ({ job_id: id }) => id === "told")).toMatchObject({
    result: { whole: true },
  });
});

test("what a handler does not wait for fails its job, not the worker", async () => {
  await start((job, context) => {
    if (job.prompt === "file") void context.file("a.txt", "/nowhere/at/all");
    void context.emit(undefined as never);
    return "done";
  });
  assign("file");
  expect(await coordinator.waitFor("job.failed")).toMatchObject({ job_id: "file", error: { code: "file_not_kept" } });
  assign("hi");
  expect(await coordinator.waitFor("job.completed")).toMatchObject({ job_id: "hi", result: "done" });
});

test("a failure's code may be a number", async () => {
  await start(() => {
    throw new Fail(404 as never, "not there");
  });
  assign("hi");
  expect(await coordinator.waitFor("job.failed")).toMatchObject({ error: { code: "404", message: "not there" } });
});

test("counts of another kind, which no type checker has seen, do not end the worker", async () => {
  await start((_job, context) => {
    context.usage({ input_tokens: 1n, output_tokens: 2n, total_tokens: 3n } as never);
    context.cost(3n as never);
  });
  assign("hi");
  const spent = { usage: { input_tokens: 1, output_tokens: 2 }, cost_usd: 3 };
  expect(await coordinator.waitFor("job.completed")).toMatchObject(spent);
});

test("a handler that only emits has its text as its result", async () => {
  await start(async (_job, { emit }) => {
    await emit("a ");
    await emit("b");
  });
  assign("hi");
  expect(await coordinator.waitFor("job.completed")).toMatchObject({ result: "a b" });
});

test.each([
  [
    "Retry",
    () => new Retry("busy", { afterSeconds: 5 }),
    { code: "retry", message: "busy", retryable: true, retry_after_seconds: 5 },
  ],
  ["Fail", () => new Fail("bad_input", "no"), { code: "bad_input", message: "no", retryable: false }],
  [
    "another error",
    () => new TypeError("x is not y"),
    { code: "type_error", message: "TypeError: x is not y", retryable: false },
  ],
  [
    "an error of another realm",
    () => runInNewContext("new RangeError('too far')"),
    { code: "range_error", message: "RangeError: too far", retryable: false },
  ],
  [
    "a plain object with a message",
    () => ({ code: 5, message: "not found" }),
    { code: "error", message: "Error: not found", retryable: false },
  ],
  ["a text", () => "no luck", { code: "error", message: "no luck", retryable: false }],
])("%s fails the job", async (_name, thrown, error) => {
  await start(() => {
    throw thrown();
  });
  assign("hi");
  expect((await coordinator.waitFor("job.failed")).error).toEqual(error);
});

test("a handler that ignores its signal cannot finish a job that is no longer its own", async () => {
  let finish = () => {};
  let signal: AbortSignal | null = null;
  await start((job, context) => {
    if (job.prompt !== "slow") return "next";
    signal = context.signal;
    return new Promise((resolve) => {
      finish = () => resolve("late");
    });
  });
  assign("slow");
  // A job that is halted before its handler begins never reaches the handler.
  await expect.poll(() => signal).not.toBeNull();
  coordinator.say({ type: "job.halted", job_id: "slow", lease: 1, reason: "cancelled" });
  await expect.poll(() => signal?.aborted).toBe(true);
  finish();
  assign("after");
  expect(await coordinator.waitFor("job.completed")).toMatchObject({ job_id: "after", result: "next" });
  expect(coordinator.received.filter(isReport)).toHaveLength(1);
});

test("nor one that ran past its timeout", async () => {
  await start(
    (_job, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("late after all"))),
  );
  assign("slow", { timeout_seconds: 1 });
  expect((await coordinator.waitFor("job.failed")).error).toMatchObject({ code: "timeout", retryable: false });
});

test("a handler that blocks the event loop keeps its job", async () => {
  await start(() => {
    const until = performance.now() + 3_000;
    while (performance.now() < until);
    return "done";
  });
  assign("hi");
  expect(await coordinator.waitFor("job.completed")).toMatchObject({ result: "done" });
});

test("wrong options and a refused key are errors that say what to change", async () => {
  await expect(serve({ url: coordinator.url, key: "", provider: "fn" }, () => 1)).rejects.toThrow("SERVICE_API_KEY");
  await expect(serve({ url: "localhost", key: KEY, provider: "fn" }, () => 1)).rejects.toThrow("url:");
  await expect(serve({ url: coordinator.url, key: KEY, provider: "" }, () => 1)).rejects.toThrow("provider");
  await expect(serve({ url: coordinator.url, key: "wrong", provider: "fn", log: () => {} }, () => 1)).rejects.toThrow(
    "refused the key",
  );
  const given = { url: coordinator.url, key: KEY, provider: "fn", log: () => {} };
  for (const [wrong, says] of [
    [{ concurency: 4 }, 'unknown field "concurency"; did you mean "concurrency"?'],
    [{ concurrency: 0 }, "concurrency: must be at least 1"],
    [{ tags: ["a b"] }, "tags.0: "],
    [{ provider: undefined }, "provider: is required"],
  ] as const)
    await expect(serve({ ...given, ...wrong } as never, () => 1)).rejects.toThrow(says);
});

const inProcess = (handler: string) => {
  const program = `import { serve } from ${JSON.stringify(SERVE)};
    await serve({ provider: "fn", instance: "w1" }, ${handler});`;
  return spawn(process.execPath, ["--no-warnings", "--input-type=module", "-e", program], {
    env: { PATH: process.env.PATH ?? "", SERVICE_API_URL: coordinator.url, SERVICE_API_KEY: KEY },
    stdio: "ignore",
  });
};

test.each([true, false])(
  "a job whose handler blocks its process at once has started all the same, socket: %s",
  async (allowsSocket) => {
    coordinator.allowsSocket = allowsSocket;
    const child = inProcess("() => { for (;;); }");
    onTestFinished(() => void child.kill("SIGKILL"));
    await coordinator.waitFor("presence");
    assign("hi");
    expect(await coordinator.waitFor("job.started")).toMatchObject({ job_id: "hi" });
  },
);

test("SIGTERM lets the running job end, and the process ends with 0", async () => {
  const child = inProcess(`() => new Promise((resolve) => setTimeout(resolve, 500, "done"))`);
  const exited = once(child, "exit");
  await coordinator.waitFor("presence");
  assign("hi");
  await coordinator.waitFor("job.started");
  child.kill("SIGTERM");
  expect(await coordinator.waitFor("job.completed")).toMatchObject({ result: "done" });
  expect(await exited).toEqual([0, null]);
});
