// Any command as a worker, in mode `job`: what it reads, what its output means, and how it ends, whatever it does.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { childEnvironment } from "../../../worker/exec/child-environment.ts";
import { wholePaths } from "../../../worker/exec/command.ts";
import { splitWords } from "../../../worker/exec/split-words.ts";
import { runJob } from "../../../worker/run-job.ts";
import { SIGNALBOX } from "../../support/command-line.ts";
import { assignedJob } from "../job-fixture.ts";
import { quietRun, taskOf } from "../runtimes/quiet-run.ts";
import { node, open, runCommand } from "./exec-fixture.ts";

const isAlive = (pid: number): boolean => {
  try {
    // An orphan that nobody has collected yet is dead all the same.
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
};

const aborting = () => {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
};

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("the command's words", () => {
  test.each([
    ["tr a-z A-Z", ["tr", "a-z", "A-Z"]],
    [`say 'two words' "and $HOME"`, ["say", "two words", "and $HOME"]],
    [`a\\ b "c\\"d" 'e\\f' ""`, ["a b", 'c"d', "e\\f", ""]],
    ["C:\\tools\\x.exe -o out", ["C:\\tools\\x.exe", "-o", "out"]],
  ])("%s", (command, words) => {
    expect(splitWords(command)).toEqual({ ok: true, words });
  });

  test("a quote that is not closed, and no command at all, are said", () => {
    expect(splitWords("echo 'a")).toMatchObject({ ok: false, problem: "has a ' that is not closed" });
    expect(splitWords("  ")).toMatchObject({ ok: false, problem: "names no command" });
  });

  test("a file beside the worker is found from the job's folder; what only looks like an argument stays", () => {
    const here = path.resolve(import.meta.dirname);
    expect(wholePaths(["python3", "exec.test.ts", "-o", "none.ts", "a-z"], here)).toEqual([
      "python3",
      path.join(here, "exec.test.ts"),
      "-o",
      "none.ts",
      "a-z",
    ]);
  });
});

describe("what a command writes", () => {
  test("stdout is the result as written, and the prompt is stdin", async () => {
    const { outcome } = await runCommand("tr a-z A-Z", {}, { prompt: "hello\n" });
    expect(outcome).toEqual({ ok: true, result: "HELLO\n" });
  });

  test("a prompt with quotes, substitution and line ends is data, not shell", async () => {
    const prompt = `a 'b' "c" $(touch /tmp/never) \`id\`\n; rm -rf /\r\n\u0000é😀`;
    expect((await runCommand("cat", {}, { prompt })).outcome).toEqual({ ok: true, result: prompt });
  });

  test("text streams before its line ends", async () => {
    const { signal, abort } = aborting();
    const told: string[] = [];
    const emit = (events: readonly string[]) => {
      told.push(...events);
      abort();
      return undefined;
    };
    await runCommand(node(`process.stdout.write("now"); setTimeout(() => {}, 60000)`), {}, {}, { signal, emit });
    expect(told).toEqual(['data: {"text":"now"}\n\n']);
  });

  test("lines with one of the seven keys are instructions; others are text", async () => {
    const lines = [
      { progress: 0.4, message: "half", extra: 1 },
      { text: "say" },
      { usage: { input_tokens: 1, output_tokens: 2 } },
      { cost_usd: 0.01 },
      { text: "x", result: 1 },
      { other: 1 },
    ];
    const script = lines.map((line) => `console.log(${JSON.stringify(JSON.stringify(line))});`).join("");
    const { outcome, progress } = await runCommand(node(script));
    expect(outcome).toEqual({
      ok: true,
      result: `say${JSON.stringify(lines[4])}\n${JSON.stringify(lines[5])}\n`,
      usage: { input_tokens: 1, output_tokens: 2 },
      cost_usd: 0.01,
    });
    expect(progress).toEqual([{ progress: 0.4, message: "half" }]);
  });

  test.each([
    [
      { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
      { input_tokens: 1, output_tokens: 2 },
    ],
    [{ input_tokens: 5 }, { input_tokens: 5, output_tokens: 0 }],
    [
      { input_tokens: 5, cache_write_tokens: 4, cache_write_1h_tokens: 3 },
      { input_tokens: 5, output_tokens: 0, cache_write_tokens: 4, cache_write_1h_tokens: 3 },
    ],
  ])("usage %j is what a job counts of it", async (told, usage) => {
    const script = `console.log(JSON.stringify({usage: ${JSON.stringify(told)}})); console.log("text")`;
    expect((await runCommand(node(script))).outcome).toEqual({ ok: true, result: "text\n", usage });
  });

  test("the last result is the result, whatever text there is", async () => {
    const script = `console.log("words"); console.log(JSON.stringify({result: 1})); console.log(JSON.stringify({result: {a: [2]}}))`;
    expect((await runCommand(node(script))).outcome).toMatchObject({ ok: true, result: { a: [2] } });
  });

  test.each([
    ["text", `process.stdout.write("x".repeat(5e6))`],
    ["a result", `console.log(JSON.stringify({result: "x".repeat(5e6)}))`],
  ])("%s of many megabytes is the result, too", async (_, script) => {
    expect((await runCommand(node(script))).outcome).toEqual({ ok: true, result: "x".repeat(5e6) });
  });

  test("an error fails the job, although the command ends with 0", async () => {
    const error = { code: "no_gpu", message: "none", retryable: true, retry_after_seconds: 7 };
    const { outcome } = await runCommand(node(`console.log(JSON.stringify({error: ${JSON.stringify(error)}}))`));
    expect(outcome).toMatchObject({ ok: false, error });
    const inWords = await runCommand(node(`console.log(JSON.stringify({error: "no GPU"}))`));
    expect(inWords.outcome).toMatchObject({
      ok: false,
      error: { code: "failed", message: "no GPU", retryable: false },
    });
  });

  test.each([
    [
      { code: 500, message: { a: 1 } },
      { code: "500", message: '{"a":1}', retryable: false },
    ],
    [
      { code: "x", message: null, retryable: "yes" },
      { code: "x", message: "", retryable: false },
    ],
    [
      { code: "", retryable: true, retry_after_seconds: "5" },
      { code: "failed", retryable: true, retry_after_seconds: 5 },
    ],
    [{ retry_after_seconds: -1 }, { code: "failed", message: "", retryable: false }],
  ])("an error in a form of its own, %j, is no text of a completed job", async (error, told) => {
    const { outcome } = await runCommand(node(`console.log(JSON.stringify({error: ${JSON.stringify(error)}}))`));
    expect(outcome).toMatchObject({ ok: false, error: told });
  });

  test("with --stdout json a line that is no instruction fails the job", async () => {
    const { outcome } = await runCommand("echo hello", { stdout: "json" });
    expect(outcome).toMatchObject({ ok: false, error: { code: "bad_output", retryable: false } });
    const told = await runCommand(node(`console.log(JSON.stringify({result: 1}))`), { stdout: "json" });
    expect(told.outcome).toEqual({ ok: true, result: 1 });
  });

  test("a file that it wrote is kept; one that it did not write fails the job", async () => {
    const wrote = `require("fs").writeFileSync("out.png", "x"); console.log(JSON.stringify({file: "out.png"}))`;
    expect((await runCommand(node(wrote))).files).toEqual([{ name: "out.png" }]);
    const { outcome } = await runCommand(node(`console.log(JSON.stringify({file: "none.png"}))`));
    expect(outcome).toMatchObject({ ok: false, error: { code: "file_not_kept" } });
    const error = { code: "files_full", message: "the tenant has no room for it", retryable: false };
    const { runtime } = open(node(wrote), {}, 1, { send: async () => ({ ok: false, error }) });
    expect(await runtime.run(taskOf(), quietRun())).toMatchObject({ ok: false, error });
  });

  test("a file of the machine is no output, also where the command repeats a prompt that names one", async () => {
    const { outcome, files } = await runCommand("cat", {}, { prompt: JSON.stringify({ file: "/etc/passwd" }) });
    expect(outcome).toMatchObject({ ok: false, error: { code: "file_not_kept" } });
    const linked = `require("fs").symlinkSync("/etc/passwd", "out"); console.log(JSON.stringify({file: "out"}))`;
    expect((await runCommand(node(linked))).outcome).toMatchObject({ ok: false, error: { code: "file_not_kept" } });
    expect(files).toEqual([]);
  });

  test("70 MB without a line end stop the command, and no UTF-8 is text all the same", async () => {
    const flood = await runCommand(node(`process.stdout.write("{" + "x".repeat(7e7)); setTimeout(() => {}, 60000)`));
    expect(flood.outcome).toMatchObject({ ok: false, error: { code: "result_too_large" } });
    const bytes = await runCommand(node(`process.stdout.write(Buffer.from([0x61, 0xff, 0xfe, 0x62]))`));
    expect(bytes.outcome).toMatchObject({ ok: true, result: "a\ufffd\ufffdb" });
  });
});

describe("what a command is given", () => {
  test("--stdin json is one line with the job, which is also a file", async () => {
    const job = assignedJob({ id: "j7", tags: ["gpu"], metadata: { a: "b" }, lease: 3, attempts: 1, provider: "p" });
    const script = `const text = require("fs").readFileSync(0, "utf8"); const same = require("fs").readFileSync(process.env.SIGNALBOX_JOB, "utf8"); console.log(JSON.stringify({result: [text === same, JSON.parse(text), process.env.SIGNALBOX_JOB_ID, process.cwd() === require("fs").realpathSync(process.env.SIGNALBOX_WORK_DIR), require("fs").readdirSync(".")]}))`;
    const task = { prompt: "hi", input: { a: 1 }, model: "m", job, timeoutSeconds: 60 };
    const { outcome } = await runCommand(node(script), { stdin: "json" }, task);
    const facts = {
      id: "j7",
      prompt: "hi",
      input: { a: 1 },
      provider: "p",
      model: "m",
      api: null,
      lease: 3,
      attempt: 2,
      timeout_seconds: 60,
      metadata: { a: "b" },
      tags: ["gpu"],
      files: [],
    };
    expect(outcome).toMatchObject({ ok: true, result: [true, facts, "j7", true, []] });
  });

  test("no secret stands in its environment", async () => {
    const secrets = [
      "SERVICE_API_KEY",
      "SERVICE_ROOT_KEY",
      "SERVICE_SIGNING_SECRET",
      "PROVIDER_OPENAI_KEY",
      "VAULT_TOKEN",
    ];
    for (const name of secrets) vi.stubEnv(name, "very-secret");
    const { outcome } = await runCommand("env");
    expect(outcome).toMatchObject({ ok: true, result: expect.stringContaining("PATH=") });
    expect(JSON.stringify(outcome)).not.toContain("very-secret");
    const secret = { service_api_key: "x", SERVICE_OTLP_HEADERS: "x", SERVICE_SIGN_IN: "oidc: …" };
    expect(childEnvironment({ ...secret, HOME: "h" })).toEqual({ HOME: "h" });
  });

  test("its folder is gone afterwards", async () => {
    const writes = node(`require("fs").writeFileSync("big", "x".repeat(1e6)); console.log(process.cwd())`);
    const { outcome } = await runCommand(writes);
    const folder = outcome.ok ? path.dirname(String(outcome.result).trim()) : "";
    expect([path.basename(folder), existsSync(folder)]).toEqual([expect.stringMatching(/^signalbox-job-/), false]);
  });
});

describe("how a command ends", () => {
  test.each([
    ["3", { code: "exit_3", message: "The command ended with exit code 3: why", retryable: false }],
    ["75", { code: "exit_75", message: "The command ended with exit code 75: why", retryable: true }],
  ])("exit code %s", async (code, error) => {
    const { outcome, logged } = await runCommand(node(`console.error("why"); process.exit(${code})`));
    expect(outcome).toMatchObject({ ok: false, error });
    expect(logged).toEqual(["job j: why"]);
  });

  test("the last 4 KiB of stderr stand in the failure", async () => {
    const { outcome } = await runCommand(node(`process.stderr.write("a".repeat(9000) + "END"); process.exitCode = 1`));
    const { message } = (outcome as { error: { message: string } }).error;
    expect(message).toMatch(/a{4093}END$/);
    expect(message).not.toMatch(/a{4094}/);
  });

  test("a signal of somebody else may be tried again", async () => {
    const { outcome } = await runCommand(node(`process.kill(process.pid, "SIGKILL")`));
    expect(outcome).toMatchObject({ ok: false, error: { code: "signal_sigkill", retryable: true } });
  });

  test("a command that is not there costs no attempt, and the worker says so", async () => {
    const { runtime } = open("no-such-command-anywhere");
    const { unavailable } = await runtime.probe(null);
    expect(unavailable).toBe("the command no-such-command-anywhere is not there: no folder of PATH has it");
    expect(await runtime.run(taskOf(), quietRun())).toMatchObject({ ok: false, neverReached: true });
  });

  test("one that ignores SIGTERM is killed with its children, and only then is the place free", async () => {
    const { signal, abort } = aborting();
    const pids: number[] = [];
    const emit = (events: readonly string[]) => {
      const text = JSON.parse((events[0] ?? "").slice(6)).text as string;
      pids.push(...text.trim().split(" ").map(Number));
      abort();
      return undefined;
    };
    const shell = `trap "" TERM; sleep 60 & echo $$ $!; wait; sleep 60`;
    await runCommand(shell, { "exec-shell": "", grace: "0.2" }, {}, { signal, emit });
    expect(pids).toHaveLength(2);
    expect(pids.filter(isAlive)).toEqual([]);
  });

  test("what a command leaves behind ends with it, although it holds stdout open", async () => {
    const { outcome } = await runCommand(`sleep 60 & echo $!`, { "exec-shell": "", grace: "0.2" });
    const pid = Number((outcome as { result: string }).result);
    expect(pid).toBeGreaterThan(1);
    expect(isAlive(pid)).toBe(false);
  });

  test("one that runs when the worker closes leaves no folder behind", async () => {
    const { runtime } = open(node(`console.log(process.cwd()); setInterval(() => {}, 1000)`));
    const { promise: said, resolve: say } = Promise.withResolvers<string>();
    const emit = (events: readonly string[]) =>
      void say(JSON.parse(events.join("").slice("data: ".length)).text.trim());
    const ran = runtime.run(taskOf({}), quietRun({ emit }));
    const place = path.dirname(await said);
    expect(existsSync(place)).toBe(true);
    await runtime.close?.();
    expect(existsSync(place)).toBe(false);
    await ran;
  });

  test("one that closes its stdout and lives is waited for", async () => {
    const { outcome } = await runCommand(`echo first; exec >&-; sleep 0.3; exit 4`, { "exec-shell": "" });
    expect(outcome).toMatchObject({ ok: false, error: { code: "exit_4" } });
  });

  test("what a cancelled one says at last that it spent is counted, and nothing else", async () => {
    const { signal, abort } = aborting();
    const last = [`{"usage": {"input_tokens": 3, "output_tokens": 4}}`, `{"cost_usd": 0.5}`, `{"file": "none"}`];
    const shell = `trap 'echo "$SAYS"; exit 0' TERM; echo begun; sleep 60 & wait`;
    vi.stubEnv("SAYS", last.join("\n"));
    const { outcome } = await runCommand(shell, { "exec-shell": "" }, {}, { signal, emit: () => void abort() });
    expect(outcome).toMatchObject({ usage: { input_tokens: 3, output_tokens: 4 }, cost_usd: 0.5, ok: true });
  });

  test("one that ends well after its timeout has timed out", async () => {
    const { runtime } = open(`trap "echo late; exit 0" TERM; sleep 60 & wait`, { "exec-shell": "" });
    const settings = {
      runtime,
      timeoutSeconds: 0.3,
      loadInput: async () => ({ ok: true as const, input: null }),
      onFirstToken: () => {},
      ...quietRun(),
    };
    const outcome = await runJob(assignedJob({ id: "j" }), settings, new AbortController().signal);
    expect(outcome).toMatchObject({ type: "job.failed", error: { code: "timeout", retryable: false } });
  });

  test("a worker that is killed leaves no command behind", async () => {
    const command = `echo $$ >&2; trap "" TERM; sleep 60 & wait; sleep 60`;
    const args = ["--exec", command, "--exec-shell", "--grace", "0.2", "--once", '{"prompt": "hi"}'];
    const worker = spawn(process.execPath, [SIGNALBOX, "worker", ...args], { stdio: ["ignore", "ignore", "pipe"] });
    const [said] = (await once(worker.stderr, "data")) as [Buffer];
    const pid = Number(/(\d+)\s*$/.exec(said.toString())?.[1]);
    expect(isAlive(pid)).toBe(true);
    worker.kill("SIGKILL");
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  test("a worker that ends takes its commands with it", async () => {
    const { runtime, logged } = open(`trap "" TERM; echo begun >&2; sleep 60`, { "exec-shell": "", grace: "0.1" });
    const running = runtime.run(taskOf(), quietRun());
    await expect.poll(() => logged.join()).toContain("begun");
    await runtime.close?.();
    expect((await running).ok).toBe(false);
  });
});
