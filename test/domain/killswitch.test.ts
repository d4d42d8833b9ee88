import { describe, expect, test } from "vitest";
import { killswitchError } from "../../domain/job/job-error.ts";
import {
  cancelsWork,
  clear,
  engage,
  epochOfNewWorker,
  isHaltedBy,
  KILLSWITCH_OFF,
  type Killswitch,
  permit,
  restored,
  stopsSchedules,
  type WriteKind,
} from "../../domain/killswitch.ts";
import { NOON } from "./job/sample-jobs.ts";

const at = (level: number, from: Killswitch = KILLSWITCH_OFF, nowAt = NOON): Killswitch =>
  engage(from, { level, reason: `drill ${level}`, by: "ops" }, nowAt);

/** The contract's table: what is refused, and what else stops, at each level. */
const LEVELS: Record<number, { refused: WriteKind[]; stopsSchedules: boolean; cancelsWork: boolean }> = {
  0: { refused: [], stopsSchedules: false, cancelsWork: false },
  1: { refused: ["dispatch"], stopsSchedules: false, cancelsWork: false },
  2: { refused: ["dispatch"], stopsSchedules: true, cancelsWork: false },
  3: { refused: ["dispatch", "create"], stopsSchedules: true, cancelsWork: false },
  4: { refused: ["dispatch", "create", "other"], stopsSchedules: true, cancelsWork: true },
};
const KINDS = Object.keys({ dispatch: 1, create: 1, other: 1, exempt: 1 } satisfies Record<
  WriteKind,
  1
>) as WriteKind[];

describe("a level of the killswitch", () => {
  test.each(Object.entries(LEVELS))("%s refuses and stops exactly what the contract says", (name, expected) => {
    const level = Number(name);
    const killswitch = level === 0 ? KILLSWITCH_OFF : at(level);
    expect(KINDS.filter((kind) => !permit(killswitch, kind).ok)).toEqual(expected.refused);
    expect(stopsSchedules(killswitch)).toBe(expected.stopsSchedules);
    expect(cancelsWork(killswitch)).toBe(expected.cancelsWork);
  });

  test("refuses with its level and its reason", () => {
    expect(permit(at(3), "create")).toEqual({
      ok: false,
      error: { code: "killswitch_active", level: 3, reason: "drill 3" },
    });
  });
});

describe("the killswitch", () => {
  test("that nobody engaged has halted and paused nothing", () => {
    expect(KILLSWITCH_OFF).toEqual({
      level: 0,
      reason: null,
      activatedAt: null,
      activatedBy: null,
      haltActivation: 0,
      pauseEpoch: 0,
      resumedEpoch: 0,
      haltedJobs: 0,
      pausedWorkers: 0,
    });
  });

  test("when first engaged says who, when and why, and starts a new activation with counts at zero", () => {
    expect(at(2)).toEqual({
      level: 2,
      reason: "drill 2",
      activatedAt: NOON,
      activatedBy: "ops",
      haltActivation: 1,
      pauseEpoch: 1,
      resumedEpoch: 0,
      haltedJobs: 0,
      pausedWorkers: 0,
    });
  });

  test("raised, lowered or engaged again while active is the same activation: its start and counts stay", () => {
    for (const from of [1, 2, 3, 4])
      for (const level of [1, 2, 3, 4]) {
        const counted = { ...at(from), haltedJobs: 7, pausedWorkers: 3 };
        expect(at(level, counted, NOON + 60_000)).toEqual({
          ...counted,
          level,
          reason: `drill ${level}`,
          pauseEpoch: 2,
        });
      }
  });

  test("cleared permits everything, and forgets all but the number of its activations", () => {
    const cleared = clear({ ...at(4), haltedJobs: 7, pausedWorkers: 3 }, false);
    expect(cleared).toEqual({ ...KILLSWITCH_OFF, haltActivation: 1, pauseEpoch: 1 });
    expect(clear(cleared, false)).toEqual(cleared);
    for (const kind of KINDS) expect(permit(cleared, kind).ok).toBe(true);
  });

  test("pauses who was not resumed since: one by one, or all with the clear; a newcomer with all others", () => {
    const first = at(1);
    expect([isHaltedBy(KILLSWITCH_OFF, 0), isHaltedBy(first, 0)]).toEqual([false, true]);
    expect(isHaltedBy(first, first.pauseEpoch)).toBe(false);
    expect(isHaltedBy(clear(first, false), 0)).toBe(true);
    expect(isHaltedBy(clear(first, true), 0)).toBe(false);
    expect(isHaltedBy(at(2, first), first.pauseEpoch)).toBe(true);
    expect(isHaltedBy(at(1, clear(first, true)), 0)).toBe(true);
    for (const [state, halts] of [
      [KILLSWITCH_OFF, false],
      [first, true],
      [clear(first, false), false],
      [at(3, clear(first, true)), true],
    ] as const)
      expect(isHaltedBy(state, epochOfNewWorker(state))).toBe(halts);
  });

  test("engaged after it was cleared is a new activation, which workers confirm again", () => {
    const again = at(1, clear({ ...at(4), haltedJobs: 7, pausedWorkers: 3 }, false), NOON + 60_000);
    expect(again).toMatchObject({ haltActivation: 2, haltedJobs: 0, pausedWorkers: 0, activatedAt: NOON + 60_000 });
    expect(at(1, { ...KILLSWITCH_OFF, haltedJobs: 7, pausedWorkers: 3 })).toMatchObject({
      haltedJobs: 0,
      pausedWorkers: 0,
    });
  });
});

test("an activation that is taken back leaves things as they were, and its number is not used again", () => {
  const earlier = clear(at(1), true);
  const back = restored(at(3, earlier, NOON + 60_000), earlier);
  expect(back).toEqual({ ...earlier, haltActivation: 2 });
  expect(at(4, back).haltActivation).toBe(3);
});

test("a request that it ends is told the reason, where there is one", () => {
  expect(killswitchError(2, "loop").message).toBe("the killswitch is at level 2: loop");
  for (const none of [null, ""]) expect(killswitchError(2, none).message).toBe("the killswitch is at level 2");
});
