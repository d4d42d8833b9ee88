import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ReadonlyBits } from "../../../domain/fleet/bits.ts";
import { Fleet, type Member, usedShareOf } from "../../../domain/fleet/fleet.ts";
import { modelSetOf, withModel } from "../../../domain/fleet/model-set.ts";
import { Postings } from "../../../domain/fleet/postings.ts";
import { SharedLists } from "../../../domain/fleet/shared-lists.ts";
import type { Worker } from "../../../domain/fleet/worker.ts";
import { explain } from "../../../domain/routing/explanation.ts";
import { APIS } from "../../../domain/words/api.ts";
import { type Requirements, TIERS } from "../../../domain/words/requirements.ts";
import { NOON } from "../job/sample-jobs.ts";
import {
  chosenOf,
  fleetOf,
  type Given,
  MODELS,
  outcomes,
  PROVIDERS,
  policies,
  policy,
  request,
  requests,
  specs,
  TAGS,
  withLoaded,
  worker,
} from "./sample-fleet.ts";

const INSTANCES = Array.from({ length: 8 }, (_, at) => `w${at}`);
const instance = fc.constantFrom(...INSTANCES);
/** By exact names; the simulation and the filters' tests know more of them. */
const takes = ({ models, runtimeModels }: Worker, model: string): boolean => {
  const named = models ?? (runtimeModels?.count ? runtimeModels : null);
  return named === null || withModel(model)(named);
};
const MISSING = [
  { key: "small", untilAt: NOON },
  { key: "large", untilAt: NOON + 1 },
];
const pause = fc.constantFrom(
  null,
  { reason: "by hand", untilAt: null },
  { reason: "over", untilAt: NOON },
  { reason: "for a while", untilAt: NOON + 1 },
);
const offer = fc.record({
  instance,
  provider: fc.constantFrom(...PROVIDERS),
  tags: fc.subarray(TAGS),
  models: fc.option(fc.subarray(MODELS)),
  runtimeModels: fc.option(fc.subarray(MODELS)),
  missingModels: fc.constantFrom([], MISSING),
  concurrency: fc.nat({ max: 3 }),
  pause,
  isHalted: fc.boolean(),
});
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ put: offer }) },
    // The same offer in a new record, as after an outcome or a pause: the indexed arrays are the same.
    { weight: 2, arbitrary: fc.record({ change: instance, pause, concurrency: fc.nat({ max: 3 }) }) },
    { weight: 2, arbitrary: fc.record({ remove: instance }) },
    { weight: 4, arbitrary: fc.record({ load: instance, change: fc.integer({ min: -2, max: 2 }) }) },
  ),
  { maxLength: 60, size: "max" },
);
type Step = (typeof steps extends fc.Arbitrary<infer Steps> ? Steps : never) extends (infer One)[] ? One : never;

/**
 * The fleet as a plain map: every answer is found by looking at every worker. `heldFrom`: the provider that the worker
 * offered when it got each of its jobs.
 */
type Naive = Map<string, { worker: Worker; load: number; heldFrom: string[] }>;

const apply = (fleet: Fleet, naive: Naive, step: Step): void => {
  if ("put" in step) {
    const record = worker(step.put);
    fleet.put(record, NOON);
    const { load = 0, heldFrom = [] } = naive.get(record.instance) ?? {};
    naive.set(record.instance, { worker: record, load, heldFrom });
  } else if ("remove" in step) {
    for (const provider of naive.get(step.remove)?.heldFrom ?? []) fleet.addLoad(step.remove, provider, -1);
    fleet.remove(step.remove);
    naive.delete(step.remove);
  } else if ("load" in step) {
    const known = naive.get(step.load);
    const change = Math.max(step.change, -(known?.load ?? 0));
    if (known === undefined) return;
    known.load += change;
    if (change > 0) {
      fleet.addLoad(step.load, known.worker.provider, change);
      known.heldFrom.push(...Array.from({ length: change }, () => known.worker.provider));
    } else for (const provider of known.heldFrom.splice(0, -change)) fleet.addLoad(step.load, provider, -1);
  } else {
    const known = naive.get(step.change);
    if (known === undefined) return;
    known.worker = { ...known.worker, pause: step.pause, concurrency: step.concurrency };
    fleet.put(known.worker, NOON);
  }
};

const namesIn = (fleet: Fleet, bits: ReadonlyBits | undefined): string[] => {
  const found: string[] = [];
  bits?.members().forEach((slot) => {
    found.push(fleet.at(slot).worker.instance);
  });
  return found.sort();
};

const expectAlike = (fleet: Fleet, naive: Naive): void => {
  const those = (holds: (worker: Worker, load: number) => boolean): string[] =>
    [...naive.values()]
      .filter((one) => holds(one.worker, one.load))
      .map((one) => one.worker.instance)
      .sort();
  expect(fleet.size).toBe(naive.size);
  for (const name of INSTANCES) {
    const member = fleet.get(name);
    expect(member?.worker).toEqual(naive.get(name)?.worker);
    expect(member?.load).toBe(naive.get(name)?.load);
    if (member !== undefined) expect(fleet.at(member.slot)).toBe(member);
  }
  expect([...fleet.members()].map((member) => member.worker.instance).sort()).toEqual(those(() => true));
  expect(namesIn(fleet, fleet.offers.registered)).toEqual(those(() => true));
  expect(namesIn(fleet, fleet.sets.withRoom)).toEqual(those((one, load) => load < one.concurrency));
  expect(namesIn(fleet, fleet.sets.paused)).toEqual(
    those((one) => one.isHalted || (one.pause !== null && (one.pause.untilAt ?? NOON + 1) > NOON)),
  );
  for (const tag of TAGS)
    expect(namesIn(fleet, fleet.offers.withTag(tag))).toEqual(those((one) => one.tags.includes(tag)));
  for (const model of MODELS) {
    expect(namesIn(fleet, fleet.offers.servingModel(model))).toEqual(those((one) => takes(one, model)));
    const marked = fleet.offers.missing(model);
    const key = model.replace(":latest", "");
    expect(marked === undefined ? [] : namesIn(fleet, marked)).toEqual(
      those((one) => one.missingModels.some((missing) => missing.key === key)),
    );
  }
  for (const provider of PROVIDERS) {
    expect(namesIn(fleet, fleet.offers.ofProvider(provider))).toEqual(those((one) => one.provider === provider));
    const held = [...naive.values()].flatMap((one) => one.heldFrom).filter((one) => one === provider);
    expect(fleet.providerLoad(provider)).toBe(held.length);
  }
};

describe("the fleet", () => {
  test("agrees with a plain map on every index and load, whichever workers come, change and go (property)", () => {
    fc.assert(
      fc.property(steps, (given) => {
        const fleet = new Fleet();
        const naive: Naive = new Map();
        for (const step of given) {
          apply(fleet, naive, step);
          expectAlike(fleet, naive);
        }
      }),
      { numRuns: 200 },
    );
  });

  test("never holds more slots than there were workers at once: those of the gone are used again (property)", () => {
    fc.assert(
      fc.property(steps, (given) => {
        const fleet = new Fleet();
        const naive: Naive = new Map();
        let most = 0;
        for (const step of given) {
          apply(fleet, naive, step);
          most = Math.max(most, naive.size);
          const slots = [...fleet.members()].map((member) => member.slot);
          expect(new Set(slots).size).toBe(slots.length);
          for (const slot of slots) expect(slot).toBeLessThan(most);
        }
      }),
      { numRuns: 200 },
    );
  });

  test("gives the slot of a worker that left to the next, and nothing of what it offered", () => {
    const fleet = new Fleet();
    fleet.put(worker({ instance: "old", provider: "local", tags: ["gpu"], models: ["large"], isHalted: true }), NOON);
    const { slot } = fleet.put(worker({ instance: "stays" }), NOON);
    fleet.remove("old");
    const next = fleet.put(worker({ instance: "new", models: [] }), NOON);
    expect(next.slot).not.toBe(slot);
    expect(next.slot).toBeLessThan(2);
    for (const bits of [fleet.offers.ofProvider("local"), fleet.offers.withTag("gpu"), fleet.sets.paused])
      expect(namesIn(fleet, bits)).toEqual([]);
    expect(namesIn(fleet, fleet.offers.servingModel("large"))).toEqual(["stays"]);
  });

  test("keeps load, turn and last sign of life when a worker's record changes; its jobs stay with their provider", () => {
    const fleet = new Fleet();
    const member = fleet.put(worker({ concurrency: 3 }), NOON);
    fleet.addLoad("w1", "openai", 2);
    fleet.noteSeen("w1", NOON + 5);
    const changed = fleet.put(worker({ provider: "local", concurrency: 2, lastHeartbeatAt: NOON - 1 }), NOON);
    expect(changed).toBe(member);
    expect(changed).toMatchObject({ load: 2, lastSeenAt: NOON + 5, lastTurn: 1 });
    expect([fleet.providerLoad("openai"), fleet.providerLoad("local")]).toEqual([2, 0]);
    expect(namesIn(fleet, fleet.sets.withRoom)).toEqual([]);
    fleet.addLoad("w1", "openai", -2);
    expect(fleet.providerLoad("openai")).toBe(0);
  });

  test("judges a worker by its new record, whichever of its fields changed (property)", () => {
    const change: fc.Arbitrary<Given> = fc.oneof(
      fc.record({ provider: fc.constantFrom(...PROVIDERS) }),
      fc.record({ tags: fc.subarray(TAGS) }),
      fc.record({ models: fc.option(fc.subarray(MODELS)) }),
      fc.record({ runtimeModels: fc.option(fc.subarray(MODELS)) }),
      fc.record({ machine: fc.subarray(MODELS).map((loaded) => withLoaded(loaded)) }),
      fc.record({ missingModels: fc.subarray(MISSING) }),
      fc.record({ apis: fc.subarray(APIS.slice(0, 3)) }),
      fc.record({ tier: fc.constantFrom(null, ...TIERS) }),
      fc.record({ concurrency: fc.nat({ max: 4 }) }),
      fc.record({ outcomes: fc.nat({ max: 3 }).map((failed) => outcomes(1, failed)) }),
      fc.record({ unavailable: fc.constantFrom(null, "its runtime does not answer") }),
    );
    fc.assert(
      fc.property(specs, fc.nat(), change, requests, policies, (given, drawn, changed, asked, rules) => {
        const at = drawn % Math.max(1, given.length);
        const fleet = fleetOf(given);
        const known = fleet.get(given[at]?.instance ?? "");
        const { models, runtimeModels, ...others } = changed;
        const listed = Object.entries({ models, runtimeModels }).filter(([, names]) => names !== undefined);
        const sets = Object.fromEntries(listed.map(([field, names]) => [field, names ? modelSetOf(names) : null]));
        if (known !== undefined) fleet.put({ ...known.worker, ...others, ...sets }, NOON);
        const built = fleetOf(given.map((one, place) => (place === at ? { ...one, ...changed } : one)));
        expect(explain(fleet, asked, rules)).toEqual(explain(built, asked, rules));
      }),
      { numRuns: 500 },
    );
  });

  test("finds everyone who offers what is required, whatever their state (property)", () => {
    const requirements: fc.Arbitrary<Requirements> = fc.record({
      provider: fc.constantFrom(null, ...PROVIDERS, "nobody's"),
      model: fc.constantFrom(null, "small", "nobody's"),
      tags: fc.subarray([...TAGS, "nobody's"], { maxLength: 2 }),
      api: fc.constantFrom(null, null, ...APIS.slice(0, 3)),
      excludedProviders: fc.subarray(PROVIDERS, { maxLength: 1 }),
      avoidedWorkers: fc.constant([]),
      batch: fc.constantFrom(null, null, "batch_1"),
    });
    fc.assert(
      fc.property(steps, requirements, (given, asked) => {
        const fleet = new Fleet();
        const naive: Naive = new Map();
        for (const step of given) apply(fleet, naive, step);
        const expected = [...naive.values()].filter(
          ({ worker: one }) =>
            (asked.provider === null || one.provider === asked.provider) &&
            (asked.api === null || one.apis.includes(asked.api)) &&
            !asked.excludedProviders.includes(one.provider) &&
            asked.tags.every((tag) => one.tags.includes(tag)) &&
            (asked.model === null || takes(one, asked.model)),
        );
        expect(namesIn(fleet, fleet.offers.allOf(asked))).toEqual(expected.map((one) => one.worker.instance).sort());
      }),
      { numRuns: 300 },
    );
  });

  test("keeps a list of models or tags once for all workers that have the same, and forgets what is gone", () => {
    const fleet = new Fleet();
    const models = () => Array.from({ length: 50 }, (_, at) => `model-${at}`);
    const members = ["a", "b"].map((instance) =>
      fleet.put(worker({ instance, tags: ["gpu"], models: models() }), NOON),
    );
    expect(members[0]?.worker.models).toBe(members[1]?.worker.models);
    expect(members[0]?.worker.tags).toBe(members[1]?.worker.tags);
    const lists = new SharedLists();
    const taken = [lists.take(models()), lists.take(models())];
    expect(lists.size).toBe(1);
    lists.giveBack(taken[0] ?? []);
    expect(lists.size).toBe(1);
    lists.giveBack(taken[1] ?? []);
    expect(lists.size).toBe(0);
  });

  test("keeps no offer that nobody has any more, however often workers change theirs", () => {
    const fleet = new Fleet();
    for (let at = 0; at < 100; at += 1) fleet.put(worker({ provider: `p${at}` }), NOON);
    fleet.put(worker({ instance: "other" }), NOON);
    fleet.remove("other");
    expect(fleet.columns.offers.length).toBeLessThanOrEqual(2);
    expect([...fleet.offers.providers()]).toEqual(["p99"]);
  });

  test("has the same workers with a feature, few or many", () => {
    const postings = new Postings();
    const slots = (): number[] => [...(postings.with("gpu")?.members() ?? [])];
    for (let slot = 0; slot < 100; slot += 1) {
      postings.place("gpu", slot * 7, true);
      expect(slots()).toHaveLength(slot + 1);
    }
    for (let slot = 0; slot < 99; slot += 1) postings.place("gpu", slot * 7, false);
    expect(slots()).toEqual([99 * 7]);
    postings.place("gpu", 99 * 7, false);
    expect([...postings.values()]).toEqual([]);
  });

  test("counts a turn for each job given, none for a job that ends", () => {
    const fleet = new Fleet();
    for (const name of ["a", "b"]) fleet.put(worker({ instance: name, concurrency: 9 }), NOON);
    for (const name of ["a", "b", "a"]) fleet.addLoad(name, "openai", 1);
    fleet.addLoad("b", "openai", -1);
    expect([fleet.get("a")?.lastTurn, fleet.get("b")?.lastTurn]).toEqual([3, 2]);
  });

  test("a worker that has just come has waited longer than any that was given a job", () => {
    const fleet = fleetOf([]);
    fleet.put(worker({ instance: "a" }), NOON);
    for (const change of [1, -1]) fleet.addLoad("a", "openai", change);
    fleet.put(worker({ instance: "b" }), NOON);
    expect(chosenOf(fleet, request(), policy())).toBe("b");
    expect(explain(fleet, request(), policy()).workers[0]?.instance).toBe("b");
  });

  test("is looked through for the silent as if each worker were asked, to the millisecond (property)", () => {
    const sign = fc.record({ instance, at: fc.integer({ min: NOON, max: NOON + 5 }) });
    const look = fc.record({ since: fc.integer({ min: NOON, max: NOON + 6 }) });
    fc.assert(
      fc.property(fc.array(fc.oneof(sign, look), { maxLength: 30, size: "max" }), (steps) => {
        const fleet = fleetOf([{ instance: "w0" }, { instance: "w1" }, { instance: "w2" }]);
        for (const step of steps) {
          if ("instance" in step) fleet.noteSeen(step.instance, step.at);
          else
            expect(namesIn(fleet, fleet.maybeSilent(step.since))).toEqual(
              expect.arrayContaining(
                [...fleet.members()].filter((one) => one.lastSeenAt < step.since).map((one) => one.worker.instance),
              ),
            );
        }
      }),
      { numRuns: 300 },
    );
  });

  test("is found by the APIs that a worker answers now, and not by those that it answered before", () => {
    const fleet = fleetOf([{ apis: ["messages"] }]);
    const known = fleet.get("w1") as Member;
    fleet.put({ ...known.worker, apis: ["responses"] }, NOON);
    const answering = (["messages", "responses"] as const).map((api) => namesIn(fleet, fleet.offers.answering(api)));
    expect(answering).toEqual([[], ["w1"]]);
  });

  test("a worker without a place, or with more jobs than places, is used in full", () => {
    const fleet = fleetOf([
      { concurrency: 0 },
      { instance: "w2", concurrency: 2, load: 3 },
      { instance: "w3", concurrency: 2, load: 1 },
    ]);
    expect(["w1", "w2", "w3"].map((name) => usedShareOf(fleet.get(name) as Member))).toEqual([1, 1, 0.5]);
  });

  test("takes no harm from workers that it does not know, and says so where a slot is empty", () => {
    const fleet = new Fleet();
    fleet.remove("unknown");
    fleet.addLoad("unknown", "openai", 0);
    expect([fleet.size, fleet.get("unknown"), fleet.providerLoad("openai")]).toEqual([0, undefined, 0]);
    expect(() => fleet.at(0)).toThrow("no worker in slot 0");
  });
});
