import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ModelSet, modelSetOf, withModel } from "../../../domain/fleet/model-set.ts";
import { patchJob } from "../../../domain/job/job-command.ts";
import {
  groupKeyOf,
  HEAD_START_MS,
  isBefore,
  orderKeyOf,
  type Place,
  Queue,
  requirementsOf,
} from "../../../domain/job/queue.ts";
import { makeReady } from "../../../domain/job/queue-place.ts";
import { APIS } from "../../../domain/words/api.ts";
import { PRIORITIES, type Priority, type Requirements } from "../../../domain/words/requirements.ts";
import { decided, delayedJob, MINUTE_MS, NOON, pendingJob } from "./sample-jobs.ts";

const PROVIDERS = ["openai", "anthropic", "local"];
const TAGS = ["gpu", "eu", "a100", "fast"];

const EVERYTHING = {
  provider: fc.constantFrom(null, null, ...PROVIDERS),
  model: fc.constantFrom(null, null, "small", "large"),
  tags: fc.shuffledSubarray(TAGS),
  api: fc.constantFrom(null, null, ...APIS),
  excludedProviders: fc.shuffledSubarray(PROVIDERS, { maxLength: 1 }),
  avoidedWorkers: fc.shuffledSubarray(["w1", "w2"], { maxLength: 1 }),
  batch: fc.constantFrom(null, null, "batch_1", "batch_2"),
  edge: fc.constantFrom(undefined, false),
} satisfies Record<keyof Requirements, unknown>;
const requirements = fc
  .record(EVERYTHING)
  .map(({ edge, ...asked }): Requirements => (edge === undefined ? asked : { ...asked, edge }));
const priority = fc.constantFrom(...PRIORITIES);
const byPlace = (one: Place, other: Place): number => (isBefore(one, other) ? -1 : 1);

describe("a place in line", () => {
  test("is earlier for a higher priority, and for the older of two alike", () => {
    const keys = [...PRIORITIES].reverse().map((one) => orderKeyOf(one, NOON));
    expect(keys).toEqual([...keys].sort((one, other) => one - other));
    expect(new Set(keys).size).toBe(PRIORITIES.length);
    expect(orderKeyOf("normal", NOON)).toBeLessThan(orderKeyOf("normal", NOON + 1));
  });

  test("is overtaken for no longer than the head start, so nothing starves (property)", () => {
    const at = fc.integer({ min: NOON, max: NOON + 10 * 360 * MINUTE_MS });
    const longestMs = Math.max(...Object.values(HEAD_START_MS));
    fc.assert(
      fc.property(priority, at, priority, at, (mine, myAt, theirs, theirAt) => {
        if (theirAt - myAt <= longestMs) return;
        expect(orderKeyOf(mine, myAt)).toBeLessThan(orderKeyOf(theirs, theirAt));
      }),
    );
  });

  test("comes up even where a job of any priority arrives for each one served (property)", () => {
    fc.assert(
      fc.property(priority, fc.array(priority, { minLength: 720, maxLength: 720 }), (mine, arrivals) => {
        const line: Place[] = [{ id: "mine", orderKey: orderKeyOf(mine, NOON) }];
        const served = arrivals.findIndex((theirs, minute) => {
          line.push({ id: `x${minute}`, orderKey: orderKeyOf(theirs, NOON + minute * MINUTE_MS) });
          line.sort(byPlace);
          return line.shift()?.id === "mine";
        });
        expect(served).toBeGreaterThanOrEqual(0);
        expect(served * MINUTE_MS).toBeLessThanOrEqual(HEAD_START_MS.critical - HEAD_START_MS[mine]);
      }),
      { numRuns: 30 },
    );
  });

  test("is a total order: of two places one comes first, never both (property)", () => {
    const place = fc.record({ id: fc.constantFrom("a", "b", "c"), orderKey: fc.integer({ min: 0, max: 2 }) });
    fc.assert(
      fc.property(place, place, (one, other) => {
        const isSame = one.id === other.id && one.orderKey === other.orderKey;
        expect(Number(isBefore(one, other)) + Number(isBefore(other, one))).toBe(isSame ? 0 : 1);
      }),
    );
  });

  test("counts from run_at for a job that was not to run before it", () => {
    const runAt = NOON + 10 * MINUTE_MS;
    expect(delayedJob({ runAt }).orderKey).toBeNull();
    expect(makeReady(delayedJob({ runAt })).job).toMatchObject({
      orderKey: orderKeyOf("normal", runAt),
      readyAt: null,
    });
    expect(pendingJob({ runAt: NOON - 1 }).orderKey).toBe(orderKeyOf("normal", NOON));
  });

  test("moves with the job's priority, without losing the time it has waited", () => {
    const raised = decided(patchJob(pendingJob(), { priority: "critical" }, NOON + MINUTE_MS)).job;
    expect(raised.orderKey).toBe(orderKeyOf("critical", NOON));
    expect(decided(patchJob(delayedJob(), { priority: "critical" }, NOON)).job.orderKey).toBeNull();
  });
});

describe("a requirement group", () => {
  test("is the same however its tags are ordered, and says all that is required (property)", () => {
    fc.assert(
      fc.property(requirements, fc.shuffledSubarray(TAGS, { minLength: 4 }), (asked, order) => {
        const reordered = { ...asked, tags: order.filter((tag) => asked.tags.includes(tag)) };
        expect(groupKeyOf(reordered)).toBe(groupKeyOf(asked));
        const read = requirementsOf(groupKeyOf(asked));
        expect({ ...read, tags: [...read.tags].sort() }).toEqual({ ...asked, tags: [...asked.tags].sort() });
        expect(groupKeyOf(read)).toBe(groupKeyOf(asked));
      }),
    );
  });

  test("differs wherever anything required differs, also from that of the job before it (property)", () => {
    const names = fc.constantFrom(...(Object.keys(EVERYTHING) as (keyof Requirements)[]));
    fc.assert(
      fc.property(requirements, requirements, names, (one, another, name) => {
        const other = { ...one, [name]: another[name] };
        const [canonical, otherCanonical] = [one, other].map((asked) => ({
          ...asked,
          tags: new Set(asked.tags),
          edge: asked.edge,
        }));
        expect(groupKeyOf(one) === groupKeyOf(other)).toBe(isDeepStrictEqual(canonical, otherCanonical));
      }),
      { numRuns: 500 },
    );
  });

  test("does not confuse names that look like its own writing", () => {
    const asked = {
      provider: "null",
      model: '"],["',
      tags: ["a,b", '"'],
      excludedProviders: [],
      api: null,
      avoidedWorkers: [],
      batch: null,
    };
    expect(requirementsOf(groupKeyOf(asked))).toEqual({ ...asked, tags: ['"', "a,b"] });
    expect(groupKeyOf({ ...asked, provider: null })).not.toBe(groupKeyOf(asked));
  });

  test("follows the job's tags, each counted once", () => {
    const job = pendingJob({ tags: ["eu", "gpu", "eu"] });
    expect(job.tags).toEqual(["eu", "gpu"]);
    expect(job.groupKey).toBe(pendingJob({ tags: ["gpu", "eu"] }).groupKey);
    expect(decided(patchJob(job, { tags: ["cpu", "cpu"] }, NOON)).job.groupKey).toBe(
      pendingJob({ tags: ["cpu"] }).groupKey,
    );
  });
});

/** The queue as a plain list: every answer is found by looking at every job. */
class NaiveQueue {
  jobs: { key: string; place: Place }[] = [];

  placesIn(key: string): Place[] {
    return this.jobs.filter((job) => job.key === key).map((job) => job.place);
  }

  get keys(): string[] {
    return [...new Set(this.jobs.map((job) => job.key))].sort();
  }
}

const expectAlike = (queue: Queue, naive: NaiveQueue): void => {
  expect(queue.count).toBe(naive.jobs.length);
  expect([...queue.groups.keys()].sort()).toEqual(naive.keys);
  const avoiding = naive.keys.filter((key) => queue.groups.get(key)?.requirements.avoidedWorkers.length !== 0);
  expect([...queue.avoiding].map((group) => group.key).sort()).toEqual(avoiding);
  expect(queue.waitingIn("nobody's")).toBe(0);
  for (const [key, group] of queue.groups) {
    const places = naive.placesIn(key).sort(byPlace);
    expect(group.count).toBe(places.length);
    expect(queue.waitingIn(key)).toBe(places.length);
    // A known head is the first job; an unknown one is looked up when it is needed.
    if (group.head !== null) expect(group.head).toEqual(places[0]);
    if (group.oldest !== null) expect(group.oldest).toBe(places.map(({ id }) => id).sort()[0]);
    expect(groupKeyOf(group.requirements)).toBe(key);
  }
};

const expectFoundByWorkers = (
  queue: Queue,
  worker: { provider: string; tags: string[]; models: ModelSet | null },
): void => {
  const found = [...queue.groupsNear(worker)];
  const near = found.map((group) => group.key);
  expect(new Set(near).size).toBe(near.length);
  for (const group of found) expect(queue.groups.get(group.key)).toBe(group);
  for (const [key, { requirements: asked }] of queue.groups) {
    const mayHave =
      (asked.provider === null || asked.provider === worker.provider) &&
      asked.tags.every((tag) => worker.tags.includes(tag)) &&
      (asked.model === null || worker.models === null || withModel(asked.model)(worker.models));
    if (mayHave) expect(near).toContain(key);
  }
};

describe("the queue", () => {
  const steps = fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.record({ addTo: fc.nat(), orderKey: fc.integer({ min: 0, max: 50 }) }) },
      { weight: 2, arbitrary: fc.record({ remove: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ takeHeadOf: fc.nat() }) },
    ),
    { maxLength: 60, size: "max" },
  );
  /** Few, so that groups fill, empty and come back. */
  const pools = fc.array(requirements, { minLength: 1, maxLength: 6 });
  const worker = fc.record({
    provider: fc.constantFrom(...PROVIDERS),
    tags: fc.shuffledSubarray(TAGS),
    models: fc.option(fc.subarray(["small", "large"]).map((names) => modelSetOf(names))),
  });

  test("agrees with a plain list on heads, counts and what is near a worker, whatever comes and goes (property)", () => {
    fc.assert(
      fc.property(pools, fc.nat({ max: 3 }), steps, fc.array(worker), (pool, storedCount, given, workers) => {
        const queue = new Queue();
        const naive = new NaiveQueue();
        pool.slice(0, storedCount).forEach((asked, at) => {
          queue.load(groupKeyOf(asked), 1);
          naive.jobs.push({ key: groupKeyOf(asked), place: { id: `stored${at}`, orderKey: at } });
        });
        given.forEach((step, at) => {
          if ("addTo" in step) {
            const asked = pool[step.addTo % pool.length] as Requirements;
            const job = { key: groupKeyOf(asked), place: { id: `j${at}`, orderKey: step.orderKey } };
            naive.jobs.push(job);
            queue.add(job.key, job.place);
          } else if ("remove" in step) {
            const [gone] = naive.jobs.splice(step.remove % Math.max(1, naive.jobs.length), 1);
            if (gone !== undefined) queue.remove(gone.key, gone.place.id);
          } else {
            const group = [...queue.groups.values()][step.takeHeadOf % Math.max(1, queue.groups.size)];
            const places = group === undefined ? [] : naive.placesIn(group.key);
            if (group !== undefined) group.head ??= places.sort(byPlace)[0] ?? null;
            if (group !== undefined) group.oldest ??= places.map(({ id }) => id).sort()[0] ?? null;
          }
          expectAlike(queue, naive);
        });
        for (const one of workers) expectFoundByWorkers(queue, one);
      }),
      { numRuns: 200 },
    );
  });

  test("shows a worker no group that asks for a provider or a first tag that it has not", () => {
    const queue = new Queue();
    const asks = (asked: Partial<Requirements>) =>
      groupKeyOf({
        provider: null,
        model: null,
        tags: [],
        excludedProviders: [],
        api: null,
        avoidedWorkers: [],
        batch: null,
        ...asked,
      });
    const [anyone, gpu, openai, local] = [{}, { tags: ["gpu"] }, { provider: "openai" }, { provider: "local" }].map(
      asks,
    );
    for (const key of [anyone, gpu, openai, local]) queue.add(key ?? "", { id: "j", orderKey: 1 });
    const near = [...queue.groupsNear({ provider: "openai", tags: ["eu"], models: null })].map((group) => group.key);
    expect(near.sort()).toEqual([anyone, openai].sort());
  });

  test("shows a worker hardly any of ten thousand groups of which each wants a tag, model or provider that it lacks", () => {
    const queue = new Queue();
    const base = {
      tags: ["gpu", "eu"],
      excludedProviders: [],
      api: null,
      avoidedWorkers: [],
      batch: null,
      provider: null,
      model: null,
    };
    for (let at = 0; at < 3_333; at += 1) {
      for (const more of [
        { tags: ["gpu", "eu", `tag-${at}`] },
        { model: `model-${at}` },
        { provider: `provider-${at}` },
      ]) {
        queue.add(groupKeyOf({ ...base, ...more }), { id: "j", orderKey: 1 });
      }
    }
    const own = groupKeyOf({ ...base, model: "mine" });
    queue.add(own, { id: "j", orderKey: 1 });
    const worker = { provider: "p", tags: ["gpu", "eu"], models: modelSetOf(["mine", "other"]) };
    const near = [...queue.groupsNear(worker)].map((group) => group.key);
    expect(near).toContain(own);
    expect(near.length).toBeLessThan(5);
    for (const key of [...queue.groups.keys()]) queue.remove(key, "j");
    expect([...queue.groupsNear({ ...worker, models: null })]).toEqual([]);
  });

  test("does not trip over a job that it never heard of", () => {
    const queue = new Queue();
    queue.remove(pendingJob().groupKey, "unknown");
    expect([queue.count, queue.groups.size]).toEqual([0, 0]);
  });

  const heldBy = (tags: readonly string[], of: Priority) => pendingJob({ tags, priority: of });
  test("puts a later job of a higher priority at the head of its own group only", () => {
    const queue = new Queue();
    const low = heldBy(["gpu"], "low");
    const high = heldBy(["gpu"], "high");
    const other = heldBy(["cpu"], "normal");
    queue.add(low.groupKey, { id: "low", orderKey: low.orderKey ?? 0 });
    queue.add(other.groupKey, { id: "other", orderKey: other.orderKey ?? 0 });
    queue.add(high.groupKey, { id: "high", orderKey: high.orderKey ?? 0 });
    expect(queue.groups.get(low.groupKey)?.head?.id).toBe("high");
    expect(queue.groups.get(other.groupKey)?.head?.id).toBe("other");
  });
});
