import { expect, test } from "vitest";
import { createEchoRuntime } from "../../../worker/runtimes/echo.ts";
import { quietRun, taskOf } from "./quiet-run.ts";

const run = (input: unknown, signal = new AbortController().signal, seen: number[] = []) =>
  createEchoRuntime().run(
    taskOf({ prompt: "one two three", input }),
    quietRun({ signal, onProgress: (progress) => "output_chars" in progress && seen.push(progress.output_chars) }),
  );

test("echo answers with the prompt and counts its words, each time the same", async () => {
  const first = await run(null);
  expect(first).toEqual({
    ok: true,
    result: { text: "one two three", finish_reason: "stop", model: "echo" },
    usage: { input_tokens: 3, output_tokens: 3 },
    model: "echo",
  });
  expect(await run(null)).toEqual(first);
});

test("echo fails in the way that the job asks for, and still says what it read", async () => {
  const fail = { code: "rate_limited", message: "slow down", status: 429, retryable: true, retry_after_seconds: 2 };
  expect(await run({ fail })).toEqual({ ok: false, error: fail, usage: { input_tokens: 3, output_tokens: 0 } });
});

test("echo reports progress in as many steps as asked", async () => {
  const seen: number[] = [];
  await run({ chunks: 4, delay_ms: 4 }, undefined, seen);
  expect(seen).toEqual([3, 7, 10, 13]);
});

test("echo stops when the job is halted", async () => {
  const halt = new AbortController();
  const running = run({ delay_ms: 3_600_000 }, halt.signal);
  halt.abort();
  await expect(running).rejects.toThrow();
});

test("a steering that makes no sense is refused by name", async () => {
  expect(await run({ delay_ms: "long" })).toMatchObject({
    ok: false,
    error: { code: "bad_request", message: expect.stringContaining("delay_ms") },
  });
});

test("reranks: documents that share words with the query come first", async () => {
  const input = { model: "echo", query: "red apple", documents: ["a car", "Apple pie", "the red apple"], top_n: 2 };
  const outcome = await createEchoRuntime().run(taskOf({ api: "rerank", input: input as never }), quietRun());
  if (!outcome.ok) throw new Error("it failed");
  const { results } = outcome.result as { results: { index: number; relevance_score: number }[] };
  expect(results).toEqual([
    { index: 2, relevance_score: 1 },
    { index: 1, relevance_score: 0.5 },
  ]);
  const { apis } = await createEchoRuntime().probe(null);
  expect(apis).toContain("rerank");
  expect(apis).not.toContain("audio/speech");
});
