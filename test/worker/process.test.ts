// The process as an operator starts it.

import { type ChildProcess, type ChildProcessWithoutNullStreams, type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SIGNALBOX } from "../support/command-line.ts";
import { FakeCoordinator, KEY } from "./fake-coordinator.ts";
import { assignedJob } from "./job-fixture.ts";
import { FakeRuntime } from "./runtimes/fake-runtime.ts";

const BUILT = [SIGNALBOX, "worker"];
/** As `npm run worker` runs it. */
const FROM_SOURCES = ["--no-warnings", fileURLToPath(new URL("../../worker/main.ts", import.meta.url))];
/** Longer than a worker needs to connect. */
const SLOW_MS = 1_500;

let coordinator: FakeCoordinator;
const children: ChildProcess[] = [];

beforeEach(async () => {
  coordinator = new FakeCoordinator();
  await coordinator.start();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await coordinator.stop();
});

function startWorker(args: string[], env: Record<string, string> = {}, command = BUILT, lines: "ipc"[] = []) {
  const settings = { PATH: process.env.PATH ?? "", SERVICE_API_URL: coordinator.url, SERVICE_API_KEY: KEY, ...env };
  const stdio: StdioOptions = ["pipe", "pipe", "pipe", ...lines];
  const child = spawn(process.execPath, [...command, ...args], {
    env: settings,
    stdio,
  }) as ChildProcessWithoutNullStreams;
  children.push(child);
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output += chunk;
  });
  const exited = once(child, "close").then(([code]) => ({ code, output }));
  return { child, exited, said: () => output };
}

test("a worker ends its job after SIGTERM and exits with 0", async () => {
  const { child, exited } = startWorker([
    "--runtime",
    "echo",
    "--instance",
    "w1",
    "--tags",
    "a,b",
    "--concurrency",
    "2",
  ]);
  expect(await coordinator.waitFor("presence")).toMatchObject({
    instance: "w1",
    provider: "echo",
    tags: "a,b",
    concurrency: 2,
  });
  coordinator.assign(assignedJob({ id: "a", prompt: "slowly", input: { delay_ms: 300 } }));
  await coordinator.waitFor("job.started");
  child.kill("SIGTERM");
  expect(await coordinator.waitFor("job.completed")).toMatchObject({ job_id: "a", result: { text: "slowly" } });
  expect((await exited).code).toBe(0);
  expect(coordinator.received.some((one) => one.type === "presence" && one.concurrency === 0)).toBe(true);
});

test("a worker ends its job after a message of the process that started it, as on Windows", async () => {
  const { child, exited } = startWorker(["--runtime", "echo", "--instance", "w1"], {}, BUILT, ["ipc"]);
  await coordinator.waitFor("presence");
  coordinator.assign(assignedJob({ id: "a", prompt: "slowly", input: { delay_ms: 300 } }));
  await coordinator.waitFor("job.started");
  child.send("shutdown");
  expect(await coordinator.waitFor("job.completed")).toMatchObject({ job_id: "a", result: { text: "slowly" } });
  expect((await exited).code).toBe(0);
});

test("one Ctrl-C that arrives twice, from the terminal and from npm, ends its job; another one ends it at once", async () => {
  const { child, exited, said } = startWorker(["--runtime", "echo", "--instance", "w1", "--concurrency", "2"]);
  await coordinator.waitFor("presence");
  coordinator.assign(assignedJob({ id: "a", prompt: "slowly", input: { delay_ms: 400 } }));
  coordinator.assign(assignedJob({ id: "b", prompt: "for long", input: { delay_ms: 60_000 } }));
  await coordinator.waitFor("job.started", ({ job_id }) => job_id === "b");
  child.kill("SIGINT");
  // For half a second from then on another one is its echo.
  await expect.poll(said, { interval: 5 }).toContain("SIGINT");
  child.kill("SIGINT");
  expect(await coordinator.waitFor("job.completed")).toMatchObject({ job_id: "a" });
  await pause(500);
  child.kill("SIGINT");
  expect((await exited).code).toBe(1);
});

test("a worker whose coordinator takes connections and says nothing ends at once after SIGTERM", async () => {
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  // The config comes from elsewhere, so that only the connection hangs.
  const env = { SERVICE_API_URL: url, SERVICE_CONFIG_URL: `${coordinator.url}/config` };
  // `signalbox worker` asks for the coordinator's version first.
  const { child, exited } = startWorker(["--runtime", "echo"], env, FROM_SOURCES);
  await once(silent, "connection");
  child.kill("SIGTERM");
  const inTime = await Promise.race([exited, pause(4_000).then(() => "too late")]);
  silent.close();
  expect(inTime).toMatchObject({ code: 0 });
});

test("a worker prints its runtime's address, and each job that fails, with the reason", async () => {
  const lists = { data: [{ id: "m" }] };
  const broken = { error: { message: "the model broke", code: "model_broke" } };
  const runtime = await new FakeRuntime(({ path }) =>
    path.endsWith("/models") ? { body: lists } : { status: 400, body: broken },
  ).start();
  try {
    const { child, exited } = startWorker(["--runtime", "vllm", "--instance", "w1"], {
      SERVICE_RUNTIME_URL: runtime.url,
    });
    await coordinator.waitFor("presence");
    coordinator.assign(assignedJob({ id: "a" }));
    const { error } = await coordinator.waitFor("job.failed");
    child.kill("SIGTERM");
    const { output } = await exited;
    expect(output).toContain(`w1 serves vllm with vllm at ${runtime.url}, 1 at a time, for ${coordinator.url}`);
    expect(error.message).toContain("the model broke");
    expect(output).toContain(`job a failed: ${error.code}: ${error.message}`);
  } finally {
    await runtime.stop();
  }
});

test("with SERVICE_LOG=json each line is an object, and a failed job has its error", async () => {
  const broken = { error: { message: "the model broke", code: "model_broke" } };
  const runtime = await new FakeRuntime(({ path }) =>
    path.endsWith("/models") ? { body: { data: [{ id: "m" }] } } : { status: 400, body: broken },
  ).start();
  try {
    const env = { SERVICE_RUNTIME_URL: runtime.url, SERVICE_LOG: "json" };
    const { child, exited } = startWorker(["--runtime", "vllm", "--instance", "w1"], env);
    await coordinator.waitFor("presence");
    coordinator.assign(assignedJob({ id: "a" }));
    const { error } = await coordinator.waitFor("job.failed");
    child.kill("SIGTERM");
    const lines = (await exited).output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const failed = { level: "warn", event: "job.failed", worker: "w1", job_id: "a", code: error.code };
    expect(lines).toContainEqual({ ...failed, at: expect.any(String), detail: expect.stringContaining("model broke") });
  } finally {
    await runtime.stop();
  }
});

test("with SERVICE_LOG=json a runtime that does not answer is an event", async () => {
  const env = { SERVICE_RUNTIME_URL: "http://127.0.0.1:9", SERVICE_LOG: "json" };
  const { child, exited } = startWorker(["--runtime", "vllm", "--instance", "w1"], env);
  await coordinator.waitFor("presence");
  child.kill("SIGTERM");
  const lines = (await exited).output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines).toContainEqual(expect.objectContaining({ level: "warn", event: "runtime.lost", worker: "w1" }));
});

test("a worker whose runtime does not answer says so with its first presence, before it is offered anything", async () => {
  const runtime = createServer((request) => setTimeout(() => request.socket.destroy(), SLOW_MS));
  await once(runtime.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(runtime.address() as AddressInfo).port}`;
  try {
    const { child, exited } = startWorker(["--runtime", "vllm"], { SERVICE_RUNTIME_URL: url });
    const { unavailable } = await coordinator.waitFor("presence");
    expect(unavailable).toMatch(`the runtime at ${url}/v1 does not answer`);
    child.kill("SIGTERM");
    expect((await exited).output).toContain(`worker: taking no jobs: ${unavailable}`);
  } finally {
    runtime.close();
  }
});

test("a key that the coordinator refuses ends the process with 1 and what to change", async () => {
  const { code, output } = await startWorker(["--runtime", "echo"], { SERVICE_API_KEY: "sb_wrong_key" }).exited;
  expect(code).toBe(1);
  expect(output).toContain("set SERVICE_API_KEY to a valid key");
  expect(output).not.toContain("sb_wrong_key");
});

test.each([
  ["an unknown flag", ["--concurency", "2"], {}, 2, "did you mean --concurrency?"],
  ["an unknown form of the log", [], { SERVICE_LOG: "yaml" }, 2, "SERVICE_LOG=yaml is not one of text, json, off"],
  ["no key", [], { SERVICE_API_KEY: "" }, 2, "SERVICE_API_KEY: is not set"],
  ["a key on two lines", [], { SERVICE_API_KEY: "sb_one\nsb_two" }, 2, "SERVICE_API_KEY: contains characters"],
  [
    "a provider's key on two lines",
    ["--runtime", "openai"],
    { PROVIDER_OPENAI_KEY: "sb_one\nsb_two" },
    1,
    "the key for openai contains characters",
  ],
  ["a hosted provider without its key", ["--runtime", "openai"], {}, 1, "no key for openai: set PROVIDER_OPENAI_KEY"],
  ["a runtime that is not there", [], { SERVICE_RUNTIME_URL: "http://127.0.0.1:9" }, 1, "no model runtime answers at"],
])("%s ends the process, and it says so", async (_what, args, env, exitCode, says) => {
  const { code, output } = await startWorker(args, env).exited;
  expect(code).toBe(exitCode);
  expect(output).toContain(says);
  expect(output).not.toContain("    at ");
  expect(output).not.toContain("sb_two");
});

test("npm run worker -- --help tells the flags and ends with 0", async () => {
  const { code, output } = await startWorker(["--help"], {}, FROM_SOURCES).exited;
  expect(code).toBe(0);
  for (const flag of ["--instance", "--provider", "--tags", "--models", "--concurrency", "--runtime", "--tier"]) {
    expect(output).toContain(flag);
  }
});

test.each([
  ["npm run worker", FROM_SOURCES],
  ["signalbox worker", BUILT],
])("%s goes on with its jobs when nobody reads its log any more", async (_name, command) => {
  const { child } = startWorker(["--runtime", "echo", "--instance", "w1"], {}, command);
  await coordinator.waitFor("presence");
  child.stdout.destroy();
  const error = { code: "broken", message: "a line in the log", retryable: false };
  for (const id of ["a", "b", "c"]) {
    coordinator.assign(assignedJob({ id, input: { fail: error } }));
    await coordinator.waitFor("job.failed", ({ job_id }) => job_id === id);
  }
  coordinator.assign(assignedJob({ id: "d", prompt: "still here" }));
  expect(await coordinator.waitFor("job.completed")).toMatchObject({ job_id: "d", result: { text: "still here" } });
});
