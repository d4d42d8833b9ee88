// Calls made at the same time: creations under one key, claims of several workers, reports that exclude each other,
// commands of owners and operators, with drains, alarms and sleep in between. In any order, each job has one history:
// one holder per lease, one end, and all counts agree.

import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JobResource } from "../../contract/jobs/job.ts";
import { type Answer, alarm, newWorld, type World } from "../support/workerd/client.ts";

const SEED = Number(env.RACE_SEED || 20261121);
const RUNS = Number(env.RACE_RUNS || 25);
const TIMEOUT_MS = 600_000;
const WORKERS = ["w1", "w2"] as const;
const CONCURRENCY = 3;
const SETTLED = ["completed", "failed", "cancelled"];

interface Story {
  readonly world: World;
  readonly ids: Set<string>;
  /** By idempotency key. */
  readonly keyed: Map<string, Set<string>>;
  /** By `job/lease`: who got it, and which reports of its end were accepted. */
  readonly holders: Map<string, Set<string>>;
  readonly ends: Map<string, Set<string>>;
  /** Already given back once: the second time the job would wait a while. */
  readonly released: Set<string>;
  leased: readonly JobResource[];
}

const note = (map: Map<string, Set<string>>, key: string, value: string): void => {
  map.set(key, (map.get(key) ?? new Set()).add(value));
};

const ALLOWED = [200, 201, 202, 409, 422, 503];

const expected = (answer: Answer): Answer => {
  if (!ALLOWED.includes(answer.status)) throw new Error(`${answer.status} ${answer.text}`);
  return answer;
};

type Call = (story: Story) => Promise<unknown>;

const create =
  (path: string, key: number | null): Call =>
  async (story) => {
    const name = key === null ? null : `${path} ${key}`;
    const headers: Record<string, string> = name === null ? {} : { "idempotency-key": name.replaceAll(" ", "-") };
    const { status, body } = expected(await story.world.post(path, { prompt: "x" }, { headers }));
    if (status >= 300) return;
    story.ids.add(body.id);
    if (name !== null) note(story.keyed, name, body.id);
    if (body.assigned_worker !== null) note(story.holders, `${body.id}/${body.lease}`, body.assigned_worker);
  };

const claim =
  (instance: string): Call =>
  async (story) => {
    const { body } = expected(await story.world.post(`/api/workers/${instance}/claim`, { max: 2 }));
    for (const { id, lease } of body.jobs as JobResource[]) note(story.holders, `${id}/${lease}`, instance);
  };

const ENDS = {
  complete: { result: 1 },
  fail: { error: { code: "boom", message: "x" } },
  release: { reason: "x" },
} as const;

const report =
  (verb: keyof typeof ENDS, which: number): Call =>
  async (story) => {
    const job = story.leased[which % Math.max(1, story.leased.length)];
    if (job === undefined || (verb === "release" && story.released.has(job.id))) return;
    if (verb === "release") story.released.add(job.id);
    const { status } = expected(
      await story.world.post(`/api/jobs/${job.id}/${verb}`, { lease: job.lease, ...ENDS[verb] }),
    );
    if (status === 200) note(story.ends, `${job.id}/${job.lease}`, verb);
  };

const cancel =
  (which: number): Call =>
  async (story) => {
    const job = story.leased[which % Math.max(1, story.leased.length)];
    if (job === undefined) return;
    const { status } = expected(await story.world.post(`/api/jobs/${job.id}/cancel`));
    if (status === 200) note(story.ends, `${job.id}/${job.lease}`, "cancel");
  };

const CALLS: Record<string, Call> = {
  create: create("/api/jobs", null),
  "create under key 1": create("/api/jobs", 1),
  "create under key 2": create("/api/jobs", 2),
  dispatch: create("/dispatch", null),
  "dispatch under key 1": create("/dispatch", 1),
  "dispatch or queue under key 3": create("/dispatch?queue=true", 3),
  "w1 claims": claim("w1"),
  "w2 claims": claim("w2"),
  ...Object.fromEntries(
    (["complete", "fail", "release"] as const).flatMap((verb) =>
      [0, 1].map((which) => [`${verb} job ${which}`, report(verb, which)]),
    ),
  ),
  "cancel job 0": cancel(0),
  "killswitch to level 1": ({ world }) => world.ok("POST", "/killswitch", { level: 1, reason: "x" }),
  "clear the killswitch": ({ world }) => world.ok("DELETE", "/killswitch?resume_all=true"),
  "history is read": ({ world }) => world.ok("GET", "/api/jobs"),
  "the alarm rings": ({ world }) => alarm(world),
};

const gauge = (metrics: string, name: string): number =>
  Number(new RegExp(`^${name} (\\S+)$`, "m").exec(metrics)?.[1] ?? Number.NaN);

/** A lease ends once; a job that was given back may be cancelled after that. */
const isOneEnd = (taken: ReadonlySet<string>): boolean =>
  taken.size === 1 || (taken.size === 2 && taken.has("release") && taken.has("cancel"));

/** What must be true once every call of a round has been answered. */
const agree = async (story: Story): Promise<void> => {
  const { world, ids, keyed, holders, ends } = story;
  for (const [key, made] of keyed) expect([key, made.size]).toEqual([key, 1]);
  for (const [lease, taken] of ends) expect([lease, [...taken], isOneEnd(taken)]).toEqual([lease, [...taken], true]);
  const listed = await world.ok("GET", "/api/jobs?limit=200");
  const jobs: JobResource[] = await Promise.all([...ids].map((id) => world.ok("GET", `/api/jobs/${id}`)));
  expect(listed.total).toBe(ids.size);
  for (const job of jobs) {
    if (job.status === "assigned") note(holders, `${job.id}/${job.lease}`, job.assigned_worker ?? "nobody");
    const taken = ends.get(`${job.id}/${job.lease}`) ?? new Set();
    const isOver = [...taken].some((end) => end !== "release");
    if (taken.size > 0)
      expect([...taken, isOver ? SETTLED.includes(job.status) : job.status]).toEqual([...taken, isOver || "pending"]);
  }
  for (const [lease, instances] of holders) expect([lease, instances.size]).toEqual([lease, 1]);
  await countsAgree(story, jobs);
};

const countsAgree = async (story: Story, jobs: readonly JobResource[]): Promise<void> => {
  const { world } = story;
  story.leased = jobs.filter(({ status }) => status === "assigned" || status === "running");
  const pending = jobs.filter(({ status }) => status === "pending");
  const { text } = await world.get("/metrics");
  const { level } = await world.ok("GET", "/killswitch");
  expect(gauge(text, "signalbox_leases")).toBe(story.leased.length);
  expect(gauge(text, "signalbox_queue_jobs")).toBe(pending.length);
  if (level > 0) expect(story.leased).toEqual([]);
  let room = 0;
  for (const { instance, current_load, paused } of (await world.ok("GET", "/api/workers")).workers) {
    const held = story.leased.filter(({ assigned_worker }) => assigned_worker === instance).length;
    expect([instance, current_load]).toEqual([instance, held]);
    expect(held).toBeLessThanOrEqual(CONCURRENCY);
    if (!paused) room += CONCURRENCY - held;
  }
  if (level === 0 && room > 0) expect(pending).toEqual([]);
};

const openStory = async (): Promise<Story> => {
  const world = await newWorld();
  for (const instance of WORKERS)
    await world.ok("POST", "/presence", { instance, provider: "p", concurrency: CONCURRENCY });
  return {
    world,
    ids: new Set(),
    keyed: new Map(),
    holders: new Map(),
    ends: new Map(),
    released: new Set(),
    leased: [],
  };
};

/** Calls that start together, in the scheduler's order, none waiting for another's answer. */
const round = fc.array(fc.constantFrom(...Object.keys(CALLS)), { minLength: 2, maxLength: 14, size: "max" });
const rounds = fc.array(fc.record({ calls: round, isAsleep: fc.boolean() }), {
  minLength: 1,
  maxLength: 5,
  size: "max",
});

describe(`calls fired together (seed ${SEED})`, () => {
  it("leave one story a job, in whatever order they fall", { timeout: TIMEOUT_MS }, () =>
    fc.assert(
      fc.asyncProperty(rounds, fc.scheduler(), async (given, scheduler) => {
        const story = await openStory();
        for (const { calls, isAsleep } of given) {
          if (isAsleep) await evictDurableObject(story.world.stub);
          const underWay = calls.map((name) =>
            scheduler.schedule(Promise.resolve(), name).then(() => CALLS[name]?.(story)),
          );
          await scheduler.waitAll();
          await Promise.all(underWay);
          await agree(story);
        }
      }),
      { seed: SEED, numRuns: RUNS },
    ),
  );
});
