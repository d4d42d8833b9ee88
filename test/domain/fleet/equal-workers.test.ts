import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Bits } from "../../../domain/fleet/bits.ts";
import { Columns } from "../../../domain/fleet/columns.ts";
import { EqualWorkers } from "../../../domain/fleet/equal-workers.ts";
import type { Fleet } from "../../../domain/fleet/fleet.ts";
import { Numbering } from "../../../domain/fleet/numbering.ts";
import { choose } from "../../../domain/routing/choice.ts";
import { explain } from "../../../domain/routing/explanation.ts";
import type { RoutePolicy, RouteRequest } from "../../../domain/routing/filter.ts";
import { PRIORITIES, TIERS } from "../../../domain/words/requirements.ts";
import { NOON } from "../job/sample-jobs.ts";
import {
  fleetOf,
  MODELS,
  OFFLINE_AFTER_MS,
  outcomes,
  PROVIDERS,
  policies,
  policy,
  request,
  requests,
  type Spec,
  TAGS,
  worker,
} from "./sample-fleet.ts";

/** Enough for classes to be worthwhile. */
const MANY = 300;

const kinds = fc.array(
  fc.record({
    provider: fc.constantFrom(...PROVIDERS),
    tags: fc.subarray(TAGS),
    models: fc.constantFrom(null, null, MODELS),
    tier: fc.constantFrom(null, ...TIERS),
    concurrency: fc.integer({ min: 2, max: 3 }),
    load: fc.nat({ max: 2 }),
    outcomes: fc.nat({ max: 2 }).map((badly) => outcomes(1, badly)),
    expiredLeases: fc.constantFrom(0, 0, 1),
  }),
  { minLength: 1, maxLength: 5 },
);
const one = fc.record({
  kind: fc.nat(),
  lastTurn: fc.nat({ max: 400 }),
  ageMs: fc.constantFrom(0, 0, 16_000, 31_000),
  isConnected: fc.boolean(),
});

/** A large fleet of a few kinds of workers. */
const crowds = fc
  .tuple(kinds, fc.array(one, { minLength: MANY, maxLength: 2 * MANY, size: "max" }))
  .map(([given, drawn]) =>
    drawn.map(
      ({ kind, ageMs, ...own }, at): Spec => ({
        ...given[kind % given.length],
        ...own,
        instance: `w${at}`,
        lastHeartbeatAt: NOON - ageMs,
      }),
    ),
  );

/** Requests that most workers may have, and others. */
const asked = fc.oneof(
  fc.constantFrom(...PRIORITIES).map((urgency) => request({ urgency })),
  requests,
);

const changes = fc.array(
  fc.oneof(
    fc.record({ assigns: fc.constant(true) }),
    fc.record({ removes: fc.nat() }),
    fc.record({ adds: fc.nat() }),
    fc.record({ at: fc.nat(), failed: fc.nat({ max: 3 }) }),
    fc.record({ at: fc.nat(), seenAgoMs: fc.constantFrom(0, 20_000, OFFLINE_AFTER_MS) }),
    fc.record({ at: fc.nat(), expiredLeases: fc.nat({ max: 1 }) }),
  ),
  { maxLength: 25 },
);
type Change = (typeof changes extends fc.Arbitrary<infer All> ? All : never) extends (infer One)[] ? One : never;

const memberAt = (fleet: Fleet, drawn: number) => [...fleet.members()][drawn % Math.max(1, fleet.size)];

const apply = (fleet: Fleet, change: Change, chosen: string | null): void => {
  if ("assigns" in change) {
    const own = chosen === null ? undefined : fleet.get(chosen)?.worker;
    if (own !== undefined) fleet.addLoad(own.instance, own.provider, 1);
    return;
  }
  if ("adds" in change) {
    fleet.put(worker({ instance: `new-${change.adds}`, concurrency: 2 }), NOON);
    return;
  }
  const one = memberAt(fleet, "removes" in change ? change.removes : change.at)?.worker;
  if (one === undefined) return;
  if ("removes" in change) fleet.remove(one.instance);
  else if ("failed" in change) fleet.put({ ...one, outcomes: outcomes(1, change.failed) }, NOON);
  else if ("seenAgoMs" in change) fleet.noteSeen(one.instance, NOON - change.seenAgoMs);
  else fleet.put({ ...one, expiredLeases: change.expiredLeases }, NOON);
};

/** The choice agrees with the explanation, which compares all workers. Returns the chosen one. */
const expectExact = (fleet: Fleet, asked: RouteRequest, rules: RoutePolicy): string | null => {
  const choice = choose(fleet, asked, rules);
  const { workers } = explain(fleet, asked, rules, [], { limit: 2 });
  const [best, second] = workers.filter(({ eligible }) => eligible);
  expect(choice?.member.worker.instance).toBe(best?.instance);
  expect([choice?.score, choice?.breakdown]).toEqual([best?.score ?? undefined, best?.breakdown]);
  expect(choice?.runnerUp?.member.worker.instance).toBe(second?.instance);
  expect([choice?.runnerUp?.score, choice?.runnerUp?.breakdown]).toEqual([
    second?.score ?? undefined,
    second?.breakdown,
  ]);
  return best?.instance ?? null;
};

describe("among many workers", () => {
  test("the same one is chosen as if all were compared, and the same comes second, whatever changes (property)", () => {
    fc.assert(
      fc.property(crowds, asked, policies, fc.option(fc.nat()), changes, (given, plain, rules, home, then) => {
        const fleet = fleetOf(given);
        const session = home === null ? undefined : { worker: `w${home % given.length}` };
        let chosen = expectExact(fleet, { ...plain, session }, rules);
        for (const change of then) {
          apply(fleet, change, chosen);
          chosen = expectExact(fleet, { ...plain, session }, rules);
        }
      }),
      { numRuns: 100 },
    );
  });

  test("equal ones get one job each before any gets a second", () => {
    const fleet = fleetOf(Array.from({ length: MANY }, (_, at) => ({ instance: `w${at}`, concurrency: 2 })));
    const first = Array.from({ length: MANY }, () => {
      const chosen = choose(fleet, request(), policy())?.member.worker;
      if (chosen !== undefined) fleet.addLoad(chosen.instance, chosen.provider, 1);
      return chosen?.instance;
    });
    expect(new Set(first).size).toBe(MANY);
  });
});

describe("classes of equal workers", () => {
  const columnsOf = (turns: readonly number[]): Columns => {
    const columns = new Columns();
    turns.forEach((turn, slot) => {
      columns.setOffer(slot, worker());
      columns.seenAt[slot] = NOON;
      columns.lastTurn[slot] = turn;
    });
    return columns;
  };
  const facts = { nowAt: NOON, offlineAfterMs: OFFLINE_AFTER_MS };
  const all = (count: number): Bits => {
    const bits = new Bits();
    for (let slot = 0; slot < count; slot += 1) bits.set(slot);
    return bits;
  };
  const slotsOf = (bits: Bits): number[] => [...bits.members()];

  test("leave the two of each class that were given a job longest ago, the lower slot first where that is equal", () => {
    const turns = [9, 4, 4, 7, 4, 1, 8, 8, 8, 6, 9, 9, 9, 9, 9, 9];
    const equals = new EqualWorkers((slot) => (slot < 5 ? "first" : "second"));
    turns.forEach((_, slot) => {
      equals.note(slot);
    });
    expect(slotsOf(equals.foremost(all(turns.length), columnsOf(turns), facts))).toEqual([1, 2, 5, 9]);
  });

  test("do not mix workers that missed different numbers of heartbeats", () => {
    const turns = Array.from({ length: 16 }, (_, slot) => slot);
    const columns = columnsOf(turns);
    for (const slot of [0, 1, 2, 4, 12]) columns.seenAt[slot] = NOON - OFFLINE_AFTER_MS / 2;
    const equals = new EqualWorkers(() => "alike");
    turns.forEach((_, slot) => {
      equals.note(slot);
    });
    expect(slotsOf(equals.foremost(all(turns.length), columns, facts))).toEqual([0, 1, 3, 5]);
  });

  test("stay in order while workers are given jobs, return, leave and come (property)", () => {
    const step = fc.record({ slot: fc.nat({ max: 23 }), becomes: fc.constantFrom("given", "busy", "free", "gone") });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: "max" }), (steps) => {
        const columns = columnsOf(Array.from({ length: 24 }, () => 0));
        const kinds: (string | null)[] = Array.from({ length: 24 }, (_, slot) => (slot % 2 === 0 ? "free" : "busy"));
        const equals = new EqualWorkers((slot) => kinds[slot] ?? null);
        for (let slot = 0; slot < 24; slot += 1) equals.note(slot);
        steps.forEach(({ slot, becomes }, at) => {
          if (becomes === "given") columns.lastTurn[slot] = at + 1;
          else kinds[slot] = becomes === "gone" ? null : becomes;
          equals.note(slot);
          if (at % 3 > 0) return;
          const present = all(24).keepIf((one) => kinds[one] !== null);
          const byTurn = [...present.members()].sort(
            (one, other) => Number(columns.lastTurn[one]) - Number(columns.lastTurn[other]) || one - other,
          );
          const firstTwo = (kind: string) => byTurn.filter((one) => kinds[one] === kind).slice(0, 2);
          const few = byTurn.length < 16;
          const expected = few ? byTurn : [...firstTwo("free"), ...firstTwo("busy")];
          expect(slotsOf(equals.foremost(present, columns, facts))).toEqual(expected.sort((one, other) => one - other));
        });
      }),
    );
  });

  const ofSlots = (from: number, to: number): Bits => all(to).keepIf((slot) => slot >= from);

  test("leave everybody where only few of them may have the job, or too many who may not are in front", () => {
    const turns = Array.from({ length: 100 }, (_, slot) => slot);
    const equals = new EqualWorkers(() => "alike");
    turns.forEach((_, slot) => {
      equals.note(slot);
    });
    const foremost = (among: Bits): number[] => slotsOf(equals.foremost(among, columnsOf(turns), facts));
    expect(foremost(ofSlots(0, 20))).toHaveLength(20);
    expect(foremost(ofSlots(70, 100))).toHaveLength(30);
    expect(foremost(ofSlots(0, 30))).toEqual([0, 1]);
    expect(foremost(ofSlots(50, 100))).toEqual([50, 51]);
  });

  test("are forgotten once they have no worker", () => {
    const turns = Array.from({ length: 16 }, (_, slot) => slot);
    let round = 0;
    const equals = new EqualWorkers((slot) => (slot >= 16 ? null : `round ${round}`));
    for (; round < 9; round += 1) {
      for (let slot = 0; slot < 20; slot += 1) equals.note(slot);
      expect(slotsOf(equals.foremost(all(16), columnsOf(turns), facts))).toEqual([0, 1]);
    }
  });

  test("leave everybody where few are equal", () => {
    const turns = Array.from({ length: 16 }, (_, slot) => slot);
    const equals = new EqualWorkers((slot) => `class ${slot % 3}`);
    turns.forEach((_, slot) => {
      equals.note(slot);
    });
    expect(equals.foremost(all(turns.length), columnsOf(turns), facts).count()).toBe(16);
  });
});

describe("a numbering", () => {
  test("gives equal names the same number, different names different ones, and uses none twice (property)", () => {
    const steps = fc.array(fc.tuple(fc.constantFrom("a", "b", "c", "d"), fc.boolean()), { maxLength: 60, size: "max" });
    fc.assert(
      fc.property(steps, (given) => {
        const numbering = new Numbering();
        const taken = new Map<string, number[]>();
        let most = 0;
        for (const [name, isTaken] of given) {
          const numbers = taken.get(name) ?? [];
          taken.set(name, numbers);
          if (isTaken) numbers.push(numbering.take(name));
          else if (numbers.length > 0) numbering.giveBack(numbers.pop() as number);
          const inUse = [...taken.values()].filter((ones) => ones.length > 0).map((ones) => new Set(ones));
          expect(inUse.every((ones) => ones.size === 1)).toBe(true);
          expect(new Set(inUse.flatMap((ones) => [...ones])).size).toBe(inUse.length);
          most = Math.max(most, inUse.length);
          expect(numbering.limit).toBe(most);
        }
      }),
    );
  });
});
