// Mode `lines`: one process for many jobs, replaced when it does not stop, started again when it ends.

import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import type { RunOptions, Runtime } from "../../../worker/calls/runtime.ts";
import { folderForEachTest } from "../../support/temporary-folder.ts";
import { assignedJob } from "../job-fixture.ts";
import { quietRun, taskOf } from "../runtimes/quiet-run.ts";
import { type Flags, node, open } from "./exec-fixture.ts";

const SERVER = node(`
  let jobs = 0;
  const say = (line) => console.log(JSON.stringify(line));
  require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, prompt, cancel } = JSON.parse(line);
    if (cancel) return process.env.DEAF ? undefined : say({ id: cancel, done: true });
    jobs += 1;
    if (prompt === "die") process.exit(9);
    if (prompt === "wait") return say({ id, text: "begun" });
    console.log("a print of a library");
    say({ id: "other", text: "not mine" });
    say({ id, text: prompt + jobs });
    say({ id, done: true, usage: { input_tokens: 1, output_tokens: 1 } });
  });`);

const folder = folderForEachTest();
let runtime: Runtime;
afterEach(async () => {
  vi.unstubAllEnvs();
  await runtime.close?.();
});

const lines = (command: string, flags: Flags = {}, concurrency = 1) => {
  const opened = open(command, { "exec-mode": "lines", ...flags }, concurrency);
  runtime = opened.runtime;
  return opened;
};

const run = (prompt: string, options: Partial<RunOptions> = {}) =>
  runtime.run(taskOf({ prompt, job: assignedJob({ id: `job-${prompt}` }) }), quietRun(options));

/** A job that never ends by itself, cancelled once its process has begun it. */
const runAndCancel = () => {
  const halt = new AbortController();
  const emit = (): undefined => halt.abort() as undefined;
  return run("wait", { signal: halt.signal, emit });
};

test("the process is kept from job to job, and only lines that name the job count", async () => {
  const { logged } = lines(SERVER);
  expect((await runtime.probe(null)).unavailable).toBe(null);
  const usage = { input_tokens: 1, output_tokens: 1 };
  expect(await run("a")).toEqual({ ok: true, result: "a1", usage });
  expect(await run("b")).toEqual({ ok: true, result: "b2", usage });
  expect(logged.join("\n")).toContain("a print of a library");
});

test("a process that dies fails its job as retryable, and the next job has a new one", async () => {
  lines(SERVER);
  expect(await run("die")).toMatchObject({ ok: false, error: { code: "exit_9", retryable: true } });
  expect(await run("a")).toMatchObject({ ok: true, result: "a1" });
});

test("a cancelled job is asked to stop, and its process is kept", async () => {
  lines(SERVER);
  await runAndCancel();
  expect(await run("a")).toMatchObject({ ok: true, result: "a2" });
});

test("a process that does not stop its job is replaced after the grace period, however often jobs are cancelled", async () => {
  vi.stubEnv("DEAF", "1");
  lines(SERVER, { grace: "0.1" });
  for (let cancelled = 0; cancelled < 4; cancelled += 1)
    expect(await runAndCancel()).not.toHaveProperty("neverReached");
  expect(await run("a")).toMatchObject({ ok: true, result: "a1" });
});

test("a process that dies at once each time makes the worker unavailable, and costs no attempt", async () => {
  lines(node(`console.error("no model file"); process.exit(1)`));
  const { unavailable } = await runtime.probe(null);
  expect(unavailable).toMatch(/exit code 1: no model file \(3 times in a row\)/);
  expect(await run("a")).toMatchObject({ ok: false, neverReached: true });
});

test.skipIf(process.platform === "win32")("a script whose interpreter is missing cannot be started", async () => {
  const script = path.join(folder.path, "model.py");
  writeFileSync(script, "#!/no/such/python\n", { mode: 0o755 });
  lines(script);
  const { unavailable } = await runtime.probe(null);
  expect(unavailable).toMatch(/^the command could not be started: .* ENOENT \(3 times in a row\)$/);
});

test("a job whose files cannot be fetched is tried again", async () => {
  lines(SERVER);
  const files = [{ id: "f", name: "a.txt", bytes: 1, content_type: "text/plain", url: "http://127.0.0.1:9/files/f" }];
  const job = assignedJob({ id: "job-a", files });
  const outcome = await runtime.run(taskOf({ prompt: "a", job }), quietRun());
  expect(outcome).toMatchObject({ ok: false, error: { code: "input_unavailable", retryable: true } });
});

test("a disk without room costs no attempt, and does not end the worker when the process is started again", async () => {
  const { logged } = lines(node(`process.stdin.once("data", () => process.exit(0))`));
  expect((await runtime.probe(null)).unavailable).toBe(null);
  await run("a");
  vi.stubEnv("TMPDIR", import.meta.filename);
  await expect.poll(() => logged.join("\n")).toContain("the kept process ended: ENOTDIR");
  expect(await run("b")).toMatchObject({ ok: false, neverReached: true });
});
