// A job's attempts, read from its timeline.

import { describe, expect, test } from "vitest";
import { type AttemptSpending, attemptsOf } from "../../../domain/job/attempt.ts";
import type { JobEvent, JobEventType } from "../../../domain/words/event.ts";
import type { Json } from "../../../domain/words/json.ts";

type TimelineEvent = Omit<JobEvent, "jobId">;

const line = (
  at: number,
  type: JobEventType,
  lease: number,
  detail: Json = null,
  worker: string | null = "w",
): TimelineEvent => ({
  at,
  type,
  lease,
  worker,
  detail,
});
const assigned = (at: number, lease: number, detail: Json = { provider: "openai" }): TimelineEvent =>
  line(at, "job.assigned", lease, detail);
const tell = (timeline: readonly TimelineEvent[], spendings: readonly AttemptSpending[] = []) =>
  attemptsOf(timeline, spendings, "asked");

const FIRST = {
  lease: 1,
  worker: "w",
  provider: "openai",
  model: "asked",
  assignedAt: 10,
  startedAt: null,
  firstTokenAt: null,
  finishedAt: null,
  outcome: null,
  error: null,
  spending: null,
};

describe("an attempt", () => {
  test("begins with its assignment, to a worker of a provider", () => {
    expect(tell([line(0, "job.created", 0, null, null), assigned(10, 1)])).toEqual([FIRST]);
    expect(tell([assigned(10, 1, null)])).toEqual([{ ...FIRST, provider: null }]);
    expect(tell([assigned(10, 1, { provider: 7 })])).toEqual([{ ...FIRST, provider: null }]);
  });

  test("has the model of a list that was asked for then, not the one that took the job in the end", () => {
    const fellBack = (at: number, lease: number, from: string, to: string) =>
      line(at, "job.fell_back", lease, { from, to, error: { code: "overloaded" } });
    const timeline = [
      assigned(10, 1),
      line(12, "job.rate_limited", 1),
      assigned(20, 2),
      fellBack(22, 2, "first", "second"),
      assigned(30, 3),
      fellBack(32, 3, "second", "asked"),
      assigned(40, 4),
    ];
    expect(tell(timeline).map(({ model }) => model)).toEqual(["first", "first", "second", "asked"]);
    const byProvider = line(12, "job.fell_back", 1, { from: "openai", remaining: ["groq"] });
    expect(tell([assigned(10, 1), byProvider, assigned(20, 2)]).map(({ model }) => model)).toEqual(["asked", "asked"]);
  });

  test("starts, says its first word and ends when its events say so", () => {
    const lines = [
      assigned(10, 1),
      line(11, "job.started", 1),
      line(12, "job.streaming", 1),
      line(13, "job.completed", 1),
    ];
    expect(tell(lines)).toEqual([{ ...FIRST, startedAt: 11, firstTokenAt: 12, finishedAt: 13, outcome: "completed" }]);
  });

  test.each<[JobEventType, number | null]>([
    ["job.completed", 13],
    ["job.failed", 13],
    ["job.attempt_failed", 13],
    ["job.rate_limited", 13],
    ["job.fell_back", 13],
    ["job.accept_expired", null],
    ["job.cancelled", null],
    ["job.released", null],
    ["job.lost", null],
    ["job.retried", null],
    ["job.reaped", null],
    ["job.timed_out", null],
    ["job.halted", null],
  ])("that was never told to have started, and ends with %s, started at %s", (type, startedAt) => {
    expect(tell([assigned(10, 1), line(13, type, 1)])).toMatchObject([
      { startedAt, finishedAt: 13, outcome: type.slice("job.".length) },
    ]);
  });

  test("is not changed by what is no part of it, nor by what comes after its end", () => {
    const lines = [assigned(10, 1), line(11, "job.updated", 1), line(12, "job.released", 1)];
    const [ended] = tell(lines);
    expect(ended).toEqual({ ...FIRST, finishedAt: 12, outcome: "released" });
    expect(tell([...lines, line(13, "job.started", 1), line(14, "job.cancelled", 1)])).toEqual([ended]);
  });

  test("is one of several, each by its lease; an event of a lease that nobody was given tells of none", () => {
    const timeline = [assigned(10, 1), line(11, "job.reaped", 1), assigned(12, 2), line(13, "job.started", 3)];
    expect(tell(timeline)).toMatchObject([
      { lease: 1, outcome: "reaped" },
      { lease: 2, assignedAt: 12, outcome: null },
    ]);
  });
});

describe("the error of an attempt", () => {
  const error = { code: "boom", message: "x", retryable: true };
  test.each<[string, JobEventType, Json, unknown]>([
    ["stands in the detail", "job.failed", error, error],
    ["stands within the detail of a retry", "job.attempt_failed", { attempt: 1, error }, error],
    ["is nothing without a code", "job.released", { reason: "no" }, null],
    ["is nothing without a detail", "job.completed", null, null],
    ["is nothing where the code is no text", "job.failed", { code: 5 }, null],
    [
      "of a rate limit is the same whatever was told",
      "job.rate_limited",
      { retry: 1 },
      { code: "rate_limited", message: "429 Too Many Requests / Rate limit exceeded", status: 429, retryable: true },
    ],
  ])("%s", (_, type, detail, expected) => {
    expect(tell([assigned(10, 1), line(11, type, 1, detail)])[0]?.error).toEqual(expected);
  });
});

describe("what an attempt spent", () => {
  const spending: AttemptSpending = {
    lease: 1,
    provider: "local",
    model: "ran",
    usage: { inputTokens: 1, outputTokens: 2 } as AttemptSpending["usage"],
    costNanoUsd: 5,
    source: "reported",
  };

  test("stands with it, and says better than its assignment what ran it", () => {
    expect(tell([assigned(10, 1)], [spending])).toEqual([{ ...FIRST, provider: "local", model: "ran", spending }]);
    const unnamed = { ...spending, model: null };
    expect(tell([assigned(10, 1)], [unnamed])).toMatchObject([{ model: "asked", spending: unnamed }]);
  });

  test("makes no attempt of a lease that the timeline does not have", () => {
    expect(tell([assigned(10, 1)], [{ ...spending, lease: 2 }])).toEqual([FIRST]);
  });
});
