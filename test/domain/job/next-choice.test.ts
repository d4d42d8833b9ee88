// A request with several models: which failures another model may answer, and how the job goes on with the next one.

import { describe, expect, test } from "vitest";
import type { ModelChoice } from "../../../domain/job/job-facts.ts";
import { askNext, isForTheNext } from "../../../domain/job/next-choice.ts";
import { NOON, run, runningJob } from "./sample-jobs.ts";

const failed = (code: string, status?: number) => ({
  code,
  message: "no",
  retryable: false,
  ...(status === undefined ? {} : { status }),
});

describe("the next model", () => {
  test.each([
    ["internal", 500],
    ["internal", 599],
    ["anything", 402],
    ["anything", 429],
    ["rate_limited", undefined],
    ["insufficient_quota", 400],
    ["overloaded", undefined],
    ["provider_refused", 403],
    ["unauthorized", 401],
    ["runtime_unreachable", undefined],
    ["no_eligible_workers", undefined],
    ["queue_timeout", undefined],
    ["model_not_found", 404],
  ])("is asked where one answered %s (%s)", (code, status) => {
    expect(isForTheNext(failed(code, status))).toBe(true);
  });

  test.each([
    ["bad_request", 400],
    ["unsupported_input", undefined],
    ["not_found", 404],
    ["context_length_exceeded", 413],
    ["anything", 428],
    ["anything", 430],
    ["anything", 499],
  ])("is not asked where the request itself is at fault: %s (%s)", (code, status) => {
    expect(isForTheNext(failed(code, status))).toBe(false);
  });

  const [second, third] = ["second", "third"].map(
    (model): ModelChoice => ({ model, provider: null, tags: ["eu"], tier: "premium" }),
  ) as [ModelChoice, ModelChoice];
  const facts = { session: "s", headers: { a: "b" }, queueMs: 30_000, isBodyHeld: false, isSessionHit: null };
  const of = (model: string | null) => ({ model, provider: "openai", code: "overloaded" });
  const error = failed("overloaded");

  test("gets the job at no cost of an attempt, with all that was tried, and with the models that are left", () => {
    const asked = { api: "messages", model: "first", frontDoor: { ...facts, choices: [second, third] } } as const;
    const waiting = { ...runningJob(asked), avoidedWorkers: ["w0"], excludedProviders: ["p"], rateLimitRetries: 2 };
    const { job, events } = askNext(
      waiting,
      { choice: second, left: [third], tried: [of("first")] },
      error,
      "failed",
      NOON,
    );
    expect(job).toMatchObject({
      ...second,
      status: "pending",
      attempts: 0,
      rateLimitRetries: 0,
      avoidedWorkers: [],
      excludedProviders: [],
      tried: [of("first")],
      frontDoor: { ...facts, choices: [third] },
      batchPlace: null,
      error,
    });
    expect(events).toMatchObject([
      { type: "job.fell_back", worker: "w1", detail: { from: "first", to: "second", error } },
    ]);
    const last = askNext(run(job), { choice: third, left: [], tried: [of("second")] }, error, "failed", NOON).job;
    expect(last).toMatchObject({ ...third, tried: [of("first"), of("second")], frontDoor: { ...facts, choices: [] } });
  });

  test("of a batch's line keeps the line's place", () => {
    const place = { line: 7, customId: "c", model: "first", yieldsUntilAt: NOON };
    const batchPlace = { ...place, choices: [second, third] };
    const line = { ...runningJob({ api: "messages", model: "first" }), batch: "b1", batchPlace };
    const next = askNext(line, { choice: second, left: [third], tried: [] }, error, "failed", NOON).job;
    expect(next).toMatchObject({ frontDoor: null, batchPlace: { ...place, choices: [third] } });
  });
});
