import { afterEach, expect, test, vi } from "vitest";
import { runJob } from "../../worker/run-job.ts";
import type { Outcome, RunOptions, Runtime } from "../../worker/runtimes/runtime.ts";
import { assignedJob } from "./job-fixture.ts";

afterEach(() => {
  vi.useRealTimers();
});

function settings(run: (options: RunOptions) => Promise<Outcome>, timeoutSeconds: number | null = null) {
  const runtime: Runtime = { name: "tested", run: (_task, options) => run(options) };
  return { runtime, configuredModel: null, offeredModels: [], timeoutSeconds, onProgress: () => {} };
}

const never = ({ signal }: RunOptions) =>
  new Promise<Outcome>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
const notHalted = () => new AbortController().signal;

test("a job that outruns its timeout fails, and may be tried again", async () => {
  vi.useFakeTimers();
  const outcome = runJob(assignedJob({ id: "j" }), settings(never, 60), notHalted());
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await outcome).toMatchObject({ type: "job.failed", error: { code: "timeout", retryable: true } });
});

test("a job's own timeout goes before the configured one", async () => {
  vi.useFakeTimers();
  const outcome = runJob(assignedJob({ id: "j", timeout_seconds: 2 }), settings(never, 60), notHalted());
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await outcome).toMatchObject({ error: { message: "The job ran longer than its timeout of 2 s" } });
});

test("a timeout that the runtime puts into words of its own is still a timeout", async () => {
  vi.useFakeTimers();
  const error = { code: "internal", message: "This operation was aborted", retryable: false };
  const outcome = runJob(
    assignedJob({ id: "j" }),
    settings((options) => never(options).catch(() => ({ ok: false, error })), 5),
    notHalted(),
  );
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await outcome).toMatchObject({ error: { code: "timeout" } });
});

test("a halted job has no outcome", async () => {
  const halt = new AbortController();
  const outcome = runJob(assignedJob({ id: "j" }), settings(never), halt.signal);
  halt.abort();
  expect(await outcome).toBeNull();
});

test("a runtime that breaks fails its job, not the worker", async () => {
  const outcome = await runJob(
    assignedJob({ id: "j" }),
    settings(() => Promise.reject(new Error("oops"))),
    notHalted(),
  );
  expect(outcome).toEqual({
    type: "job.failed",
    error: { code: "internal", message: "The tested runtime broke: oops", retryable: false },
  });
});

test("a result that is too large to keep fails the job, and what it cost is told", async () => {
  const usage = { input_tokens: 1, output_tokens: 999_999 };
  const large = async (): Promise<Outcome> => ({ ok: true, result: { text: "x".repeat(1024 * 1024) }, usage });
  expect(await runJob(assignedJob({ id: "j" }), settings(large), notHalted())).toMatchObject({
    type: "job.failed",
    error: { code: "result_too_large", retryable: false },
    usage,
  });
});
