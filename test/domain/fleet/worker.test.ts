import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { UNKNOWN_MACHINE } from "../../../domain/fleet/machine.ts";
import { modelSetOf } from "../../../domain/fleet/model-set.ts";
import { RECENT_OUTCOMES, recordExpiredLease, recordOutcome, successRateOf } from "../../../domain/fleet/outcomes.ts";
import { HALT_PAUSE } from "../../../domain/fleet/pause.ts";
import {
  isOffline,
  isSameOffer,
  type PresenceReport,
  pauseOf,
  pauseWorker,
  recordMissing,
  registerWorker,
  resumeWorker,
  statusOf,
  type Worker,
} from "../../../domain/fleet/worker.ts";
import { NOON } from "../job/sample-jobs.ts";
import { OFFLINE_AFTER_MS, outcomes, worker } from "./sample-fleet.ts";
import { attempts, completed, failed, failures, having } from "./sample-outcomes.ts";

const REPORT: PresenceReport = {
  instance: "w1",
  provider: "openai",
  tagList: "gpu, eu",
  tags: ["gpu", "eu"],
  models: ["large"],
  tier: "premium",
  version: "1.2.3",
  concurrency: 4,
  unavailable: null,
  apis: ["messages"],
  runtimeModels: null,
  machine: UNKNOWN_MACHINE,
  jobs: null,
};
const HEARD = { keyId: "k1", viaSocket: true };
const FROM = { ...HEARD, isFull: false };
const BY_HAND = { reason: "mending", untilAt: null };

describe("presence", () => {
  test("registers a worker with what it says of itself and a clean record", () => {
    const { jobs: _, ...offer } = REPORT;
    expect(registerWorker(REPORT, null, FROM, NOON)).toEqual({
      ...offer,
      models: modelSetOf(["large"]),
      machine: null,
      isEdge: false,
      hasHadLine: false,
      busy: null,
      ...HEARD,
      registeredAt: NOON,
      lastHeartbeatAt: NOON,
      opening: null,
      pause: null,
      isHalted: false,
      resumedEpoch: 0,
      confirmedHalt: 0,
      outcomes: [],
      expiredLeases: 0,
      rests: 0,
      missingModels: [],
      trial: null,
      provedAt: null,
      lastCompletedAt: null,
    });
  });

  test("of the built-in echo offers the one model echo; any other that names none takes any", () => {
    const models = (provider: string) => registerWorker({ ...REPORT, provider, models: null }, null, FROM, NOON).models;
    expect([models("echo"), models("openai")]).toEqual([modelSetOf(["echo"]), null]);
    const echo = { ...REPORT, provider: "echo", models: null };
    expect(isSameOffer(registerWorker(echo, null, FROM, NOON), echo)).toBe(true);
  });

  test("that says why it can take nothing is another offer than the one before", () => {
    const known = registerWorker(REPORT, null, FROM, NOON);
    expect(isSameOffer(known, { ...REPORT, unavailable: "its runtime does not answer" })).toBe(false);
  });

  test("of a known worker changes its offer; its pause, its record and its registration outlive its restarts", () => {
    const kept = {
      registeredAt: NOON - 1_000,
      pause: BY_HAND,
      isHalted: true,
      confirmedHalt: 2,
      outcomes: outcomes(1, 1),
      expiredLeases: 2,
    };
    const known = worker({ ...kept, provider: "local", concurrency: 1, keyId: "k0", lastHeartbeatAt: NOON - 1_000 });
    const next = registerWorker(REPORT, known, FROM, NOON);
    expect(next).toMatchObject({ ...kept, provider: "openai", concurrency: 4, keyId: "k1", lastHeartbeatAt: NOON });
    expect(next.tags).toEqual(["gpu", "eu"]);
  });

  test.each<[string, Partial<PresenceReport>, boolean]>([
    ["the same again", {}, true],
    ["the same models in a new list", { models: ["large"] }, true],
    ["the jobs it works on", { jobs: ["j1"] }, true],
    ["another provider", { provider: "local" }, false],
    ["other tags", { tagList: "gpu", tags: ["gpu"] }, false],
    ["other models", { models: ["small"] }, false],
    ["any model", { models: null }, false],
    ["another tier", { tier: null }, false],
    ["another version", { version: null }, false],
    ["another concurrency", { concurrency: 5 }, false],
  ])("that says %s brings nothing new: %#", (_, change, isSame) => {
    expect(isSameOffer(registerWorker(REPORT, null, FROM, NOON), { ...REPORT, ...change })).toBe(isSame);
  });
});

describe("a worker's status", () => {
  test.each([
    ["idle", 0, 2, 0],
    ["online", 1, 2, 0],
    ["busy", 2, 2, 0],
    ["busy", 3, 2, 0],
    ["idle", 0, 2, OFFLINE_AFTER_MS],
    ["offline", 0, 2, OFFLINE_AFTER_MS + 1],
    ["offline", 2, 2, OFFLINE_AFTER_MS + 1],
  ])("is %s with %d of %d jobs, %d ms after its last sign of life", (expected, load, concurrency, silentMs) => {
    expect(statusOf(worker({ concurrency }), load, NOON - silentMs, OFFLINE_AFTER_MS, NOON)).toBe(expected);
    expect(isOffline(NOON - silentMs, OFFLINE_AFTER_MS, NOON)).toBe(expected === "offline");
  });
});

describe("a pause", () => {
  test.each<[string, Parameters<typeof worker>[0], string | null]>([
    ["none", {}, null],
    ["by hand", { pause: BY_HAND }, "mending"],
    ["until a moment from now", { pause: { reason: "lunch", untilAt: NOON + 1 } }, "lunch"],
    ["until now", { pause: { reason: "lunch", untilAt: NOON } }, null],
    ["by the killswitch", { isHalted: true }, HALT_PAUSE.reason],
    ["by hand under the killswitch", { isHalted: true, pause: BY_HAND }, "mending"],
    ["over under the killswitch", { isHalted: true, pause: { reason: "lunch", untilAt: NOON } }, HALT_PAUSE.reason],
  ])("%s: the reason is known", (_, state, reason) => {
    expect(pauseOf(worker(state), NOON)?.reason ?? null).toBe(reason);
  });

  test("has a reason even where none was given, and the last one holds", () => {
    const paused = pauseWorker(worker(), null, null);
    expect(paused.pause).toEqual({ reason: "paused by an operator", untilAt: null });
    expect(pauseWorker(paused, "lunch", NOON + 1).pause).toEqual({ reason: "lunch", untilAt: NOON + 1 });
    expect(pauseWorker(paused, null, null)).toEqual(paused);
  });

  test("ends with a clean slate on resume, also the killswitch's; resuming twice is resuming once", () => {
    const resumed = resumeWorker(
      worker({ pause: BY_HAND, isHalted: true, expiredLeases: 4, outcomes: outcomes(2, 9) }),
    );
    expect(resumed).toMatchObject({
      pause: null,
      isHalted: false,
      expiredLeases: 0,
      rests: 0,
      outcomes: outcomes(2, 0),
    });
    expect(resumeWorker(resumed)).toEqual(resumed);
  });
});

describe("how its jobs ended", () => {
  test("is remembered by the last attempt of each job", () => {
    const tried = having([failed(NOON, "x", "j1"), failed(NOON, "x", "j2"), completed(NOON + 1, "j1")]);
    expect(tried.outcomes.map(({ jobId, outcome }) => `${jobId} ${outcome}`)).toEqual(["j1 completed", "j2 failed"]);
    expect(successRateOf(having(attempts("bad", 12)))).toBe(successRateOf(having(failures(1))));
  });

  test("is remembered by its last outcomes only, newest first, and by its last success", () => {
    const many = having(Array.from({ length: 30 }, (_, at) => completed(NOON + at)));
    expect(many.outcomes.length).toBe(RECENT_OUTCOMES);
    expect(many.outcomes.map((one) => one.at)).toEqual(Array.from({ length: 20 }, (_, at) => NOON + 29 - at));
    expect(having(failures(20), many).lastCompletedAt).toBe(NOON + 29);
  });
});

describe("a worker that takes leases and never starts them", () => {
  const expired = (count: number, start = worker()): Worker =>
    Array.from({ length: count }).reduce<Worker>((one) => recordExpiredLease(one, NOON), start);

  test("rests at the fifth in a row, and is told why; the next time at once", () => {
    expect(expired(4)).toMatchObject({ pause: null, expiredLeases: 4 });
    const { pause } = expired(5);
    expect(pause?.reason).toMatch(/^let leases expire 5 times in a row without starting them; it rests until /);
    expect(pause?.untilAt).toBe(NOON + 60_000);
    const again = recordExpiredLease({ ...expired(5), pause: null }, NOON).pause;
    expect(again?.untilAt).toBe(NOON + 120_000);
    expect(again?.reason).toContain("let leases expire again after its rest");
  });

  test("is forgiven with any job that it brings to an end, and when it is resumed", () => {
    expect(recordOutcome(expired(4), completed(NOON)).expiredLeases).toBe(0);
    expect(recordOutcome(expired(4), failed(NOON)).expiredLeases).toBe(0);
    expect(resumeWorker(expired(5))).toMatchObject({ pause: null, expiredLeases: 0 });
  });

  test("keeps the pause that it has", () => {
    expect(expired(9, worker({ pause: BY_HAND }))).toMatchObject({ pause: BY_HAND, expiredLeases: 9 });
  });
});

describe("the rate of success", () => {
  test("of a worker without a record is a good one's, and blameless failures are no record", () => {
    expect(successRateOf(worker())).toBe(1);
    expect(successRateOf(worker({ outcomes: outcomes(0, 20, "rate_limited") }))).toBe(1);
    expect(successRateOf(worker({ outcomes: outcomes(0, 2) }))).toBe(0.5);
  });

  test("falls with every failure, rises with every success, and stays between 0 and 1 (property)", () => {
    const count = fc.nat({ max: 18 });
    fc.assert(
      fc.property(count, count, (well, badly) => {
        const rate = (more: number, worse: number) =>
          successRateOf(worker({ outcomes: outcomes(well + more, badly + worse) }));
        expect(rate(0, 1)).toBeLessThan(rate(0, 0));
        expect(rate(1, 0)).toBeGreaterThanOrEqual(rate(0, 0));
        if (badly > 0) expect(rate(1, 0)).toBeGreaterThan(rate(0, 0));
        expect(rate(0, 1)).toBeGreaterThan(0);
        expect(rate(0, 0)).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe("a model that a runtime answered not to have", () => {
  const lacking = recordMissing(recordMissing(worker(), "m:latest", NOON), "n", NOON + 1);

  test("is remembered for five minutes, each once", () => {
    expect(recordMissing(lacking, "m", NOON + 2).missingModels).toEqual([
      { key: "n", untilAt: NOON + 300_001 },
      { key: "m", untilAt: NOON + 300_002 },
    ]);
    expect(recordMissing(lacking, "o", NOON + 300_000).missingModels.map(({ key }) => key)).toEqual(["n", "o"]);
  });

  test("is forgotten with the next change of its list, and by no other report", () => {
    const report = { ...REPORT, provider: "openai", models: null };
    const again = (more: Partial<PresenceReport>) =>
      registerWorker({ ...report, ...more }, { ...lacking, models: null }, FROM, NOON).missingModels.length;
    expect([again({}), again({ runtimeModels: ["m"] }), again({ models: ["m"] })]).toEqual([2, 0, 0]);
  });

  test("is one of at most 64 of a worker", () => {
    const names = Array.from({ length: 70 }, (_, at) => `m${at}`);
    const many = names.reduce((one, name) => recordMissing(one, name, NOON), worker());
    expect(many.missingModels.map(({ key }) => key)).toEqual(names.slice(-64));
  });
});
