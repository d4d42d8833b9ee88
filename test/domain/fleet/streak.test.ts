import { describe, expect, test } from "vitest";
import { askTrial, endTrial, judgeTrial, restUnasked, streakOf } from "../../../domain/fleet/streak.ts";
import { type Outcome, resumeWorker, type Worker } from "../../../domain/fleet/worker.ts";
import { NOON } from "../job/sample-jobs.ts";
import { worker } from "./sample-fleet.ts";
import { attempts, completed, failed, failures, having } from "./sample-outcomes.ts";

const MINUTE_MS = 60_000;
const BY_HAND = { reason: "mending", untilAt: null };
const lastAt = ({ outcomes }: Worker): number => outcomes[0]?.at ?? NOON;
const whyOf = (one: Worker): string | null => streakOf(one, lastAt(one));
const WHY = 'failed 10 jobs in a row within 60 s, the last with "provider_error"';
/** Asked at once, and answers at once that its runtime fails. */
const triedInVain = (one: Worker): Worker =>
  judgeTrial(askTrial(one, whyOf(one) ?? "", lastAt(one)), "no answer", lastAt(one));

describe("a streak of failures", () => {
  test("is ten in a row within a minute", () => {
    expect(whyOf(having(failures(9)))).toBeNull();
    expect(whyOf(having(failures(10)))).toBe(WHY);
    const ending = (at: number) => whyOf(having([...Array.from({ length: 9 }, () => failed(NOON)), failed(at)]));
    expect([ending(NOON + MINUTE_MS), ending(NOON + MINUTE_MS + 1)]).toEqual([WHY, null]);
  });

  test.each<[string, Outcome[]]>([
    ["one of them went well", [...failures(5), completed(NOON), ...failures(9)]],
    ["they lie further apart", failures(20, 7_000)],
    ["they were the jobs' own fault", failures(20, 10, "bad_request")],
    ["the contexts were too long", failures(20, 10, "context_length")],
    ["their provider limited the rate", failures(20, 10, "rate_limited")],
    ["their provider's quota was gone", failures(20, 10, "quota_exhausted")],
    ["the credit was gone", failures(20, 10, "insufficient_quota")],
    ["their models were missing", failures(20, 10, "model_not_found")],
    ["one of them was blameless", [...failures(5), failed(NOON, "rate_limited"), ...failures(9)]],
    ["one job failed nine times and another one ten", [...attempts("bad", 9), ...attempts("worse", 10)]],
    ["nine jobs failed, one of them again and again", [...failures(8), ...attempts("bad", 12)]],
  ])("is none where %s", (_, given) => {
    expect(whyOf(having(given))).toBeNull();
  });

  test("is one failure after a rest, unless that is blameless", () => {
    const one = { ...triedInVain(having(failures(10))), pause: null };
    expect(whyOf(having([failed(NOON + MINUTE_MS)], one))).toMatch(/^failed again after its rest, the last with "/);
    expect(whyOf(having([failed(NOON + MINUTE_MS, "rate_limited")], one))).toBeNull();
    expect(whyOf(having([completed(NOON + MINUTE_MS), failed(NOON + MINUTE_MS)], one))).toBeNull();
  });

  test("is over with a resume: what was forgiven does not count", () => {
    const resumed = resumeWorker(triedInVain(having(failures(10))));
    expect(whyOf(having(failures(9), resumed))).toBeNull();
    expect(whyOf(having(failures(10), resumed))).not.toBeNull();
    expect(resumeWorker(askTrial(having(failures(10)), WHY, NOON)).trial).toBeNull();
  });
});

describe("a worker that can be asked to try its runtime", () => {
  const asked = askTrial(having(failures(10)), WHY, NOON + 9_000);

  test("goes on where its runtime works: the failures were about the requests", () => {
    const proved = judgeTrial(asked, null, NOON + 10_000);
    expect(proved).toMatchObject({ pause: null, trial: null, rests: 0 });
    expect(whyOf(proved)).toBeNull();
    const later = (count: number) =>
      having(
        Array.from({ length: count }, () => failed(NOON + 10_001)),
        proved,
      );
    expect([whyOf(later(9)), whyOf(later(10))]).toEqual([null, WHY]);
  });

  test("rests for a minute where its own trial fails, too, and is told why", () => {
    const untilAt = NOON + 10_000 + MINUTE_MS;
    expect(judgeTrial(asked, "no answer", NOON + 10_000).pause).toEqual({
      reason:
        `${WHY}, and its own trial of its runtime failed: no answer; it rests until ` +
        `${new Date(untilAt).toISOString()}, or until it is resumed`,
      untilAt,
    });
  });

  test("rests twice as long each time that it fails again, half an hour at most, until a job goes well", () => {
    let one = triedInVain(having(failures(10)));
    const rests: number[] = [];
    for (let round = 0; round < 7; round += 1) {
      const at = one.pause?.untilAt ?? 0;
      one = triedInVain(having([failed(at)], { ...one, pause: null }));
      rests.push(((one.pause?.untilAt ?? 0) - at) / MINUTE_MS);
    }
    expect(rests).toEqual([2, 4, 8, 16, 30, 30, 30]);
    expect(having([completed(NOON)], one).rests).toBe(0);
  });

  test("keeps the pause that it has, and none that is over", () => {
    expect(triedInVain(having(failures(10), worker({ pause: BY_HAND }))).pause).toEqual(BY_HAND);
    const until = (untilAt: number) =>
      triedInVain(having(failures(10, 0), worker({ pause: { reason: "lunch", untilAt } }))).pause;
    expect([until(NOON + 1)?.reason, until(NOON)?.reason === "lunch"]).toEqual(["lunch", false]);
  });

  test("that does not answer within two minutes is judged like one that cannot be asked", () => {
    expect(endTrial(asked, NOON + 128_999)).toBe(asked);
    expect(endTrial(asked, NOON + 129_000)).toMatchObject({ trial: null, pause: null });
    const old = { ...asked, registeredAt: NOON - 10 * MINUTE_MS };
    expect(endTrial(old, NOON + 129_000).pause?.reason).toMatch(/^failed 10 jobs in a row within 60 s/);
  });

  test("changes nothing with an answer that nobody asked for", () => {
    const one = having(failures(10));
    expect(judgeTrial(one, "no answer", NOON)).toBe(one);
  });
});

describe("a worker that cannot be asked", () => {
  const pausedAt = (one: Worker, at: number): boolean => restUnasked(one, WHY, at).pause !== null;
  const fresh = worker({ registeredAt: NOON, lastCompletedAt: null });

  test("rests only if the failed jobs were of two keys or more", () => {
    const ofOne = having(failures(10), fresh);
    expect(pausedAt(ofOne, NOON + 9_000)).toBe(false);
    expect(pausedAt(having([failed(NOON + 9_000, "x", "another", "k2")], ofOne), NOON + 9_000)).toBe(true);
    const longAgo = having([failed(NOON - 1, "x", "another", "k2"), completed(NOON - 1), ...failures(10)], fresh);
    expect(pausedAt(longAgo, NOON + 9_000)).toBe(false);
  });

  test("or if nothing has gone well for five minutes, since it registered or since its last success", () => {
    const at = (one: Worker) => [5 * MINUTE_MS - 1, 5 * MINUTE_MS].map((ms) => pausedAt(one, NOON + ms));
    expect(at(having(failures(10), fresh))).toEqual([false, true]);
    const early = worker({ registeredAt: NOON - 60 * MINUTE_MS });
    expect(at(having([completed(NOON), ...failures(20)], early))).toEqual([false, true]);
  });
});
