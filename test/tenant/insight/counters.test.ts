// The counts behind the metrics and the dashboard's activity.

import { describe, expect, test } from "vitest";
import {
  Activity,
  countersFrom,
  Histogram,
  storedCounters,
  Tallies,
} from "../../../durable-objects/turn/memory/counters.ts";

const MINUTE_MS = 60_000;

describe("a histogram", () => {
  const bucketsOf = (histogram: Histogram) =>
    Object.fromEntries(
      histogram.samples().flatMap(([suffix, { le }, value]) => (suffix === "_bucket" ? [[le, value]] : [])),
    );

  test("counts an observation in each bucket that it does not exceed", () => {
    const histogram = new Histogram();
    for (const seconds of [0.01, 0.2, 5, 5.001, 3600]) histogram.observe(seconds);
    expect(bucketsOf(histogram)).toEqual({
      "0.01": 1,
      "0.05": 1,
      "0.1": 1,
      "0.5": 2,
      "1": 2,
      "5": 3,
      "10": 4,
      "60": 4,
      "300": 4,
      "1800": 4,
      "+Inf": 5,
    });
    expect(histogram.samples().slice(-2)).toEqual([
      ["_sum", {}, 0.01 + 0.2 + 5 + 5.001 + 3600],
      ["_count", {}, 5],
    ]);
  });

  test("of nothing counts nothing", () => {
    expect(new Set(Object.values(bucketsOf(new Histogram())))).toEqual(new Set([0]));
  });
});

describe("the attempts of a provider and model", () => {
  const attempt = {
    provider: "openai",
    model: "m",
    outcome: "completed",
    seconds: 2,
    errorCode: null,
  } as const;
  const failed = (errorCode: string) => ({ ...attempt, outcome: "failed", errorCode }) as const;

  test("add up: tokens, cost, durations and errors", () => {
    const tallies = new Tallies();
    tallies.note(attempt);
    tallies.note({ ...failed("overloaded"), seconds: null });
    tallies.note(failed("overloaded"));
    for (const spent of [7, null, 7])
      tallies.noteSpent("openai", "m", spent === null ? null : { inputTokens: 10, outputTokens: 4 }, spent);
    expect(tallies.all).toMatchObject([
      {
        completed: 1,
        failed: 2,
        inputTokens: 20,
        outputTokens: 8,
        nanoUsd: 14,
        errors: { overloaded: 2 },
        durations: { count: 2, sum: 4 },
      },
    ]);
  });

  test("have labels of their own for 200 pairs, and count as other beyond, so that labels are bounded", () => {
    const tallies = new Tallies();
    for (let at = 0; at < 250; at += 1) tallies.note({ ...attempt, model: `m${at}` });
    for (let at = 0; at < 250; at += 1) tallies.note({ ...attempt, model: `m${at}` });
    expect(tallies.all.length).toBe(201);
    expect(tallies.all.find(({ model }) => model === "m199")?.completed).toBe(2);
    expect(tallies.all.at(-1)).toMatchObject({ provider: "other", model: "other", completed: 100 });
  });

  test("name 30 error codes, and count as other beyond, whatever a worker calls its errors", () => {
    const tallies = new Tallies();
    for (const code of ["constructor", "__proto__"]) tallies.note(failed(code));
    for (let at = 0; at < 38; at += 1) tallies.note(failed(`e${at}`));
    tallies.note(failed("e0"));
    const errors = new Map(Object.entries(tallies.all[0]?.errors ?? {}));
    expect(errors.size).toBe(31);
    const counted = ["constructor", "__proto__", "e0", "other"].map((code) => errors.get(code));
    expect(counted).toEqual([1, 1, 2, 10]);
    const read = new Tallies(JSON.parse(JSON.stringify(tallies.all)));
    for (const code of ["constructor", "__proto__"]) read.note(failed(code));
    const later = new Map(Object.entries(read.all[0]?.errors ?? {}));
    expect([later.get("constructor"), later.get("__proto__")]).toEqual([2, 2]);
  });
});

describe("the activity of the last hour", () => {
  test("is by minute, with only the minutes in which something happened", () => {
    const activity = new Activity();
    activity.note("created", 10 * MINUTE_MS + 59_999);
    activity.note("failed", 10 * MINUTE_MS);
    activity.note("created", 13 * MINUTE_MS);
    expect(activity.since(0)).toEqual([
      { at: 10 * MINUTE_MS, created: 1, completed: 0, failed: 1, cancelled: 0 },
      { at: 13 * MINUTE_MS, created: 1, completed: 0, failed: 0, cancelled: 0 },
    ]);
    expect(activity.since(13 * MINUTE_MS)).toHaveLength(1);
  });

  test("holds sixty minutes, and counts on in the newest while a clock is set back", () => {
    const activity = new Activity();
    for (let minute = 0; minute < 70; minute += 1) activity.note("completed", minute * MINUTE_MS);
    activity.note("completed", 5 * MINUTE_MS);
    expect(activity.minutes.length).toBe(60);
    expect(activity.minutes[0]?.at).toBe(10 * MINUTE_MS);
    expect(activity.minutes.at(-1)).toMatchObject({ at: 69 * MINUTE_MS, completed: 2 });
  });
});

test("the counts are the same after they were stored and read", () => {
  const counters = countersFrom(null);
  expect(counters).toMatchObject({ retriedCount: 0, streamsAbandoned: 0, affinity: { hit: 0, miss: 0 } });
  counters.jobsByStatus.completed += 3;
  counters.retriedCount += 1;
  counters.streamsAbandoned += 2;
  counters.affinity.miss += 1;
  counters.prunedByStatus.failed = 4;
  counters.assignmentLatency.observe(1);
  counters.tallies.measure("p", "m", { queueWaitMs: 1, firstTokenMs: null, runMs: 9_000, tokensPerSecond: 70 });
  counters.streamDuration.observe(3);
  counters.activity.note("created", MINUTE_MS);
  const stored = JSON.parse(JSON.stringify(storedCounters(counters)));
  expect(countersFrom(stored)).toEqual(counters);
});
