// A front-door job whose client has received part of the answer: no other attempt repeats or continues it.

import { describe, expect, test } from "vitest";
import { failJob } from "../../../domain/job/failure.ts";
import type { Decision, Job } from "../../../domain/job/job.ts";
import { loseJob, reapJob, recordFirstToken, releaseJob } from "../../../domain/job/lease.ts";
import {
  decided,
  failure,
  MINUTE_MS,
  NO_POLICY,
  NOON,
  RATE_LIMIT,
  RATE_LIMITED,
  RETRYABLE,
  runningJob,
} from "./sample-jobs.ts";

const LATER = NOON + MINUTE_MS;
const CHAIN = { fallbackProviders: ["anthropic"] };

describe("a job of the front door whose client has heard the first word", () => {
  const facts = { session: null, headers: {}, queueMs: 30_000, isBodyHeld: false, isSessionHit: null };
  const spoken = (): Job =>
    decided(recordFirstToken(runningJob({ api: "messages", stream: true, frontDoor: facts }), 1, NOON)).job;
  const endOf = (decision: Decision): (string | undefined)[] => [decision.job.status, decision.job.error?.code];

  test.each([
    [
      "a retryable failure",
      () => decided(failJob(spoken(), 1, failure(RETRYABLE), { ...NO_POLICY, ...CHAIN }, LATER)),
      "provider_error",
    ],
    [
      "a rate limit",
      () => decided(failJob(spoken(), 1, failure(RATE_LIMITED), { ...NO_POLICY, rateLimit: RATE_LIMIT }, LATER)),
      "provider_error",
    ],
    ["a release", () => decided(releaseJob(spoken(), 1, "shutting down", LATER)), "worker_lost"],
    ["a worker that has lost it", () => loseJob(spoken(), 5, LATER), "worker_lost"],
    ["a silent worker", () => reapJob(spoken(), 5, LATER), "worker_lost"],
  ])("is never run again after %s", (_, end, code) => {
    expect(endOf(end())).toEqual(["failed", code]);
  });

  test("says that its worker was lost, and how", () => {
    expect(loseJob(spoken(), 5, LATER).job.error?.message).toBe("the worker was lost while it was answering");
    expect(reapJob(spoken(), 5, LATER).job.error?.message).toBe("the worker fell silent while it was answering");
    const released = decided(releaseJob(spoken(), 1, "shutting down", LATER)).job;
    expect(released.error?.message).toBe("the worker stopped (shutting down) while it was answering");
  });

  test("goes to another worker where its client gets the answer as a whole, and nothing of it yet", () => {
    const whole = decided(recordFirstToken(runningJob({ api: "messages", frontDoor: facts }), 1, NOON)).job;
    expect(loseJob(whole, 5, LATER).job).toMatchObject({ status: "pending", firstTokenAt: null });
  });

  test("goes to another worker while nothing was said", () => {
    const silent = runningJob({ api: "messages", stream: true, frontDoor: facts });
    expect(loseJob(silent, 5, LATER).job).toMatchObject({ status: "pending", queueUntilAt: LATER + 30_000 });
  });
});
