import { afterEach, describe, expect, test, vi } from "vitest";
import { reportedError } from "../../contract/jobs/report.ts";
import { MAX_LARGE_RESULT_BYTES } from "../../contract/words/values.ts";
import type { Outcome, RunOptions, Runtime } from "../../worker/calls/runtime.ts";
import { type ResultStore, runJob } from "../../worker/run-job.ts";
import { assignedJob } from "./job-fixture.ts";
import { keepsNothing, quietRun } from "./runtimes/quiet-run.ts";

afterEach(() => {
  vi.useRealTimers();
});

function settings(
  run: (options: RunOptions) => Promise<Outcome>,
  timeoutSeconds: number | null = null,
  storeResult: ResultStore = keepsNothing,
) {
  const probe = async () => ({ unavailable: null, apis: [], models: null });
  const runtime: Runtime = {
    name: "tested",
    address: null,
    probeEveryMs: 0,
    probe,
    run: (_task, options) => run(options),
  };
  const loadInput = async () => ({ ok: true as const, input: null });
  const { onProgress, emit } = quietRun();
  const onFirstToken = () => {};
  const asked = { configuredModel: null, offeredModels: [], timeoutSeconds };
  return { runtime, ...asked, loadInput, storeResult, onProgress, onFirstToken, emit };
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
  expect(await outcome).toMatchObject({ type: "job.failed", error: { code: "timeout", retryable: false } });
});

test("an answer that comes after the job's own timeout does not complete it, and its cost is told", async () => {
  vi.useFakeTimers();
  const usage = { input_tokens: 3, output_tokens: 4 };
  const deaf = () =>
    new Promise<Outcome>((resolve) => setTimeout(() => resolve({ ok: true, result: "late", usage }), 2_000));
  const outcome = runJob(assignedJob({ id: "j" }), settings(deaf, 1), notHalted());
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await outcome).toMatchObject({ type: "job.failed", error: { code: "timeout" }, usage });
});

test("a failure fits its report, whatever its runtime says", async () => {
  const error = { code: "internal", message: "m".repeat(20_000), status: 999, retryable: true };
  const said = async (): Promise<Outcome> => ({ ok: false, error: { ...error, retry_after_seconds: 1e12 } });
  const outcome = await runJob(assignedJob({ id: "j" }), settings(said), notHalted());
  if (outcome.type !== "job.failed") throw new Error(outcome.type);
  expect(reportedError.safeParse(outcome.error)).toMatchObject({ success: true, data: { status: 599 } });
});

test("a timeout longer than any timer does not end the job at once", async () => {
  const completed: Outcome = { ok: true, result: "done" };
  const slowly = (options: RunOptions) =>
    Promise.race([never(options), new Promise<Outcome>((resolve) => setTimeout(() => resolve(completed), 50))]);
  const outcome = runJob(assignedJob({ id: "j" }), settings(slowly, 30 * 86_400), notHalted());
  expect(await outcome).toMatchObject({ type: "job.completed" });
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

test("a runtime that ignores its timeout and is done later has timed out all the same", async () => {
  vi.useFakeTimers();
  const late = () => new Promise<Outcome>((resolve) => setTimeout(() => resolve({ ok: true, result: "late" }), 9_000));
  const outcome = runJob(assignedJob({ id: "j" }), settings(late, 5), notHalted());
  await vi.advanceTimersByTimeAsync(9_000);
  expect(await outcome).toMatchObject({ type: "job.failed", error: { code: "timeout", retryable: false } });
});

test("a halted job has no outcome but what it has spent", async () => {
  const halt = new AbortController();
  const outcome = runJob(assignedJob({ id: "j" }), settings(never), halt.signal);
  halt.abort();
  expect(await outcome).toEqual({ type: "job.spent" });
  const usage = { input_tokens: 5, output_tokens: 2 };
  const later = new AbortController();
  const error = { code: "aborted", message: "aborted", retryable: false };
  const spent = runJob(
    assignedJob({ id: "j" }),
    settings((options) => never(options).catch(() => ({ ok: false, error, usage }))),
    later.signal,
  );
  later.abort();
  expect(await spent).toEqual({ type: "job.spent", usage });
});

test.each([
  ["is cut off", (signal: AbortSignal) => new Promise<never>((_resolve, reject) => whenAborted(signal, reject))],
  [
    "ends all the same",
    (signal: AbortSignal) => new Promise<Stored>((resolve) => whenAborted(signal, () => resolve(KEPT))),
  ],
])(
  "a job that is halted while its result is stored says what it has spent, where the storing %s",
  async (_how, store) => {
    const usage = { input_tokens: 5, output_tokens: 2 };
    const long = async (): Promise<Outcome> => ({ ok: true, result: "x".repeat(1_100_000), usage });
    const halt = new AbortController();
    const isStoring = Promise.withResolvers<void>();
    const storing: ResultStore = (_job, _bytes, _type, signal) => {
      isStoring.resolve();
      return store(signal);
    };
    const spent = runJob(assignedJob({ id: "j" }), settings(long, null, storing), halt.signal);
    await isStoring.promise;
    halt.abort();
    expect(await spent).toEqual({ type: "job.spent", usage });
  },
);

type Stored = Awaited<ReturnType<ResultStore>>;
const KEPT: Stored = { ok: true, file: { id: "file-1", bytes: 1_100_002 } };
const whenAborted = (signal: AbortSignal, told: (reason: unknown) => void): void =>
  signal.addEventListener("abort", () => told(signal.reason));

test("a job that never reached its runtime is given back", async () => {
  const error = { code: "runtime_unreachable", message: "connect ECONNREFUSED", retryable: true };
  const refused = async (): Promise<Outcome> => ({ ok: false, error, neverReached: true });
  expect(await runJob(assignedJob({ id: "j" }), settings(refused), notHalted())).toEqual({
    type: "job.released",
    reason: "connect ECONNREFUSED",
  });
});

test("a reason that is too long is cut between characters, because a broken one would be refused", async () => {
  const error = { code: "runtime_unreachable", message: `no\n ${"x".repeat(396)}😀`, retryable: true };
  const refused = async (): Promise<Outcome> => ({ ok: false, error, neverReached: true });
  expect(await runJob(assignedJob({ id: "j" }), settings(refused), notHalted())).toEqual({
    type: "job.released",
    reason: `no ${"x".repeat(396)}`,
  });
});

test("the first content is told once, behind it, with the time that it took", async () => {
  const told: string[] = [];
  const speaks = async ({ emit }: RunOptions): Promise<Outcome> => {
    emit(["data: 1\n\n"]);
    emit(["data: 2\n\n"]);
    return { ok: true, result: "done" };
  };
  const outcome = await runJob(
    assignedJob({ id: "j" }),
    {
      ...settings(speaks),
      onFirstToken: () => told.push("told"),
      emit: (events) => {
        told.push(...events);
        return undefined;
      },
    },
    notHalted(),
  );
  expect(told).toEqual(["data: 1\n\n", "told", "data: 2\n\n"]);
  expect(outcome).toMatchObject({ type: "job.completed", first_token_ms: expect.any(Number) });
});

test("a runtime that breaks fails its job, not the worker", async () => {
  const outcome = await runJob(
    assignedJob({ id: "j" }),
    settings(() => Promise.reject(new Error("oops"))),
    notHalted(),
  );
  expect(outcome).toEqual({
    type: "job.failed",
    error: { code: "internal", message: "The tested runtime failed with an internal error: oops", retryable: false },
  });
});

const WORDS = "x".repeat(100_000);

test.each([
  ["a runtime that breaks", settings(() => Promise.reject(new Error(WORDS)))],
  [
    "who does not take a result",
    settings(
      async () => ({ ok: true, result: WORDS.repeat(20) }),
      null,
      async () => ({
        ok: false,
        error: { code: "result_not_stored", message: WORDS, retryable: false },
      }),
    ),
  ],
])("however much %s says, its job's failure fits a report", async (_who, given) => {
  const outcome = await runJob(assignedJob({ id: "j" }), given, notHalted());
  expect(outcome).toMatchObject({ type: "job.failed", error: { message: expect.stringContaining("xxx") } });
  expect(reportedError.safeParse("error" in outcome && outcome.error).success).toBe(true);
});

test("a result that is too large to keep fails the job, and what it cost is told", async () => {
  const usage = { input_tokens: 1, output_tokens: 999_999 };
  const large = async (): Promise<Outcome> => ({ ok: true, result: "x".repeat(MAX_LARGE_RESULT_BYTES), usage });
  expect(await runJob(assignedJob({ id: "j" }), settings(large), notHalted())).toMatchObject({
    type: "job.failed",
    error: { code: "result_too_large", retryable: false },
    usage,
  });
});

test.each([
  ["nests deeper", "[".repeat(63) + "]".repeat(63)],
  ["has more values", `[${"1,".repeat(320_000)}1]`],
])("a result that %s than a report may is stored", async (_what, text) => {
  const kept: string[] = [];
  const store: ResultStore = async (_job, bytes) => {
    for await (const piece of bytes) kept.push(Buffer.from(piece).toString());
    return { ok: true, file: { id: "file-1", bytes: text.length } };
  };
  const run = async (): Promise<Outcome> => ({ ok: true, result: JSON.parse(text) });
  const outcome = await runJob(assignedJob({ id: "j" }), settings(run, null, store), notHalted());
  expect(outcome).toMatchObject({ type: "job.completed", result_file: "file-1" });
  expect(kept).toEqual([text]);
});

describe("a result over 1 MiB", () => {
  const usage = { input_tokens: 1, output_tokens: 999_999 };
  const result = { text: "x".repeat(1024 * 1024) };
  const large = async ({ emit }: RunOptions): Promise<Outcome> => {
    await emit(["data: {}\n\n"]);
    return { ok: true, result, usage };
  };

  test("is stored, and its report names the file", async () => {
    const kept: string[] = [];
    const store: ResultStore = async (job, bytes, type) => {
      for await (const piece of bytes) kept.push(`${job.id} ${type} ${piece.byteLength}`);
      return { ok: true, file: { id: "file-1", bytes: 7 } };
    };
    const outcome = await runJob(assignedJob({ id: "j" }), settings(large, null, store), notHalted());
    expect(outcome).toMatchObject({ type: "job.completed", result_file: "file-1", usage });
    expect(outcome).not.toHaveProperty("result");
    expect(kept).toEqual([`j application/json ${JSON.stringify(result).length}`]);
  });

  test("that its client had as events is told by its size alone", async () => {
    const job = assignedJob({ id: "j", api: "chat/completions", stream: true });
    const outcome = await runJob(job, settings(large), notHalted());
    expect(outcome).toMatchObject({ type: "job.completed", result_bytes: JSON.stringify(result).length, usage });
    expect(outcome).not.toHaveProperty("result");
  });

  test("can be read again, for a coordinator that is away", async () => {
    const store: ResultStore = async (_job, bytes, _type, _signal, isWhole) => {
      let size = 0;
      for (const _time of [1, 2]) for await (const piece of bytes) size += piece.byteLength;
      return { ok: true, file: { id: `file-${isWhole}`, bytes: size } };
    };
    const outcome = await runJob(assignedJob({ id: "j" }), settings(large, null, store), notHalted());
    expect(outcome).toMatchObject({ type: "job.completed", result_file: "file-true", usage });
  });

  test("that cannot be stored fails the job for the reason that the coordinator gave, with its cost", async () => {
    const error = { code: "result_not_stored", message: "the files are full", retryable: false };
    const store: ResultStore = async () => ({ ok: false, error });
    const outcome = await runJob(assignedJob({ id: "j" }), settings(large, null, store), notHalted());
    expect(outcome).toMatchObject({ type: "job.failed", error, usage });
  });
});
