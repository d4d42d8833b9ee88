// When a delivery is tried again, and when an endpoint is disabled.

import { describe, expect, test } from "vitest";
import {
  type AttemptOutcome,
  afterAttempt,
  type Delivery,
  GIVEN_UP_AFTER_MS,
  isWanted,
  redelivered,
  rotated,
  signingSecrets,
  type Webhook,
  wants,
} from "../../domain/webhook.ts";

const NOW = 1_800_000_000_000;
const webhook: Webhook = {
  id: "wh_1",
  url: "https://hooks.example.com/",
  origin: "https://signalbox.example",
  events: ["job.failed", "killswitch.activated"],
  tags: ["eu"],
  description: "",
  secret: "bmV3",
  previousSecret: null,
  previousUntilAt: null,
  disabledAt: null,
  disabledReason: null,
  failingSinceAt: null,
  createdAt: NOW,
};
const delivery: Delivery = {
  id: "msg_1",
  webhookId: "wh_1",
  event: "job.failed",
  at: NOW,
  status: "pending",
  attempts: 0,
  responseStatus: null,
  error: null,
  nextAttemptAt: NOW,
  finishedAt: null,
  traceparent: null,
  body: "{}",
};
const answered = (status: number | null, retryAfterMs: number | null = null): AttemptOutcome => ({
  status,
  retryAfterMs,
  error: status === 200 ? null : "no",
});

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

test("a webhook hears of its events only, of jobs only with all of its tags, and of nothing while it is disabled", () => {
  expect(wants(webhook, "job.failed", ["eu", "gpu"])).toBe(true);
  expect(wants(webhook, "job.failed", ["gpu"])).toBe(false);
  expect(wants({ ...webhook, tags: ["eu", "cpu"] }, "job.failed", ["eu", "gpu"])).toBe(false);
  expect(wants(webhook, "job.completed", ["eu"])).toBe(false);
  expect(wants(webhook, "killswitch.activated", null)).toBe(true);
  expect(wants({ ...webhook, disabledAt: NOW }, "job.failed", ["eu"])).toBe(false);
  const others = { ...webhook, events: ["job.completed"] } as const;
  expect([isWanted([others, webhook], "job.failed"), isWanted([others], "job.failed")]).toEqual([true, false]);
});

test.each([200, 201, 204, 299])("%i is delivered, and the endpoint is well again", (status) => {
  const failing = { ...webhook, failingSinceAt: NOW - HOUR };
  const after = afterAttempt(failing, delivery, answered(status), NOW, 0);
  expect(after.delivery).toMatchObject({ status: "delivered", attempts: 1, nextAttemptAt: null, finishedAt: NOW });
  expect(after.webhook.failingSinceAt).toBeNull();
});

describe("what is not delivered", () => {
  test.each([null, 199, 300, 301, 400, 404, 429, 500, 503])("is tried again after %s", (status) => {
    const after = afterAttempt(webhook, delivery, answered(status), NOW, 0);
    const told = { responseStatus: status, error: "no" };
    expect(after.delivery).toMatchObject({ status: "pending", attempts: 1, nextAttemptAt: NOW + 5 * SECOND, ...told });
    expect(after.webhook.failingSinceAt).toBe(NOW);
  });

  test("is tried eight times: at once, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h", () => {
    const waits: number[] = [];
    let current = delivery;
    while (current.status === "pending") {
      current = afterAttempt(webhook, current, answered(500), NOW, 0).delivery;
      if (current.nextAttemptAt !== null) waits.push(current.nextAttemptAt - NOW);
    }
    expect(waits).toEqual([5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR]);
    expect(current).toMatchObject({ status: "failed", attempts: 8, finishedAt: NOW });
  });

  test("waits longer by up to a tenth, and never less than the endpoint asks for, up to a day", () => {
    const late = afterAttempt(webhook, delivery, answered(500), NOW, 0.999).delivery.nextAttemptAt ?? 0;
    expect(late - NOW).toBeGreaterThan(5 * SECOND);
    expect(late - NOW).toBeLessThanOrEqual(5.5 * SECOND);
    const asked = afterAttempt(webhook, delivery, answered(429, HOUR), NOW, 0).delivery.nextAttemptAt;
    expect(asked).toBe(NOW + HOUR);
    const soon = afterAttempt(webhook, delivery, answered(429, SECOND), NOW, 0).delivery.nextAttemptAt;
    expect(soon).toBe(NOW + 5 * SECOND);
    const far = afterAttempt(webhook, delivery, answered(503, 1000 * HOUR), NOW, 0).delivery.nextAttemptAt;
    expect(far).toBe(NOW + 24 * HOUR);
  });

  test("disables its webhook at once where the endpoint is gone (410)", () => {
    const after = afterAttempt(webhook, delivery, answered(410), NOW, 0);
    expect(after.delivery.status).toBe("failed");
    expect(after.webhook).toMatchObject({ disabledAt: NOW, disabledReason: "the endpoint answered 410 Gone" });
  });

  test("disables its webhook once everything failed for five days, and not a moment before", () => {
    const at = (ago: number) =>
      afterAttempt({ ...webhook, failingSinceAt: NOW - ago }, delivery, answered(500), NOW, 0);
    expect(at(GIVEN_UP_AFTER_MS - 1).webhook.disabledAt).toBeNull();
    expect(at(GIVEN_UP_AFTER_MS).webhook.disabledAt).toBe(NOW);
  });
});

test("a redelivery keeps its id and restarts its tries", () => {
  const failed: Delivery = { ...delivery, status: "failed", attempts: 8, nextAttemptAt: null, finishedAt: NOW };
  expect(redelivered(failed, NOW + 1)).toMatchObject({
    id: "msg_1",
    status: "pending",
    attempts: 0,
    nextAttemptAt: NOW + 1,
    finishedAt: null,
  });
});

test("after a rotation both secrets sign until the overlap is over", () => {
  const replaced: Webhook = { ...webhook, previousSecret: "b2xk", previousUntilAt: NOW + 10 };
  expect(signingSecrets(replaced, NOW + 9)).toEqual(["bmV3", "b2xk"]);
  expect(signingSecrets(replaced, NOW + 10)).toEqual(["bmV3"]);
});

test("each rotation gives the secret before it a day, whatever is rotated meanwhile", () => {
  const day = 86_400_000;
  const once = rotated(webhook, "c2Vjb25k", NOW);
  const twice = rotated(once, "dGhpcmQ", NOW + 10);
  expect(signingSecrets(twice, NOW + day - 1)).toEqual(["dGhpcmQ", "c2Vjb25k", "bmV3"]);
  expect(signingSecrets(twice, NOW + day)).toEqual(["dGhpcmQ", "c2Vjb25k"]);
  expect(signingSecrets(rotated(twice, "Zm91cnRo", NOW + day), NOW + day)).toEqual(["Zm91cnRo", "dGhpcmQ", "c2Vjb25k"]);
  const often = Array.from({ length: 30 }).reduce<Webhook>((one, _, at) => rotated(one, `${at}`, NOW), webhook);
  expect(signingSecrets(often, NOW)).toHaveLength(10);
});
