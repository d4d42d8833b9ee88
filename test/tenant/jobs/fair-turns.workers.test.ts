// Fair turns inside a tenant: whose job is next among equal ones.

import { expect, it } from "vitest";
import { MAX_FLOWS } from "../../../domain/job/flows.ts";
import { type Client, restart } from "../../support/workerd/client.ts";
import { present, read, useOwnTenant, world } from "../../support/workerd/own-tenant.ts";
import { copyWaitingJob } from "../../support/workerd/rows.ts";

useOwnTenant();

const flood = async (client: Client, count: number, more: Record<string, unknown> = {}): Promise<string[]> => {
  const jobs = Array.from({ length: count }, () => ({ prompt: "hello", ...more }));
  const created = await client.ok("POST", "/api/jobs/batch", { jobs });
  return created.jobs.map(({ id }: { id: string }) => id);
};

/** The next job of the worker, which it completes. */
const work = async (usage: object | null = null): Promise<string> => {
  const { jobs } = await world.ok("POST", "/api/workers/w/claim", {});
  const { id, lease } = jobs[0];
  await world.ok("POST", `/api/jobs/${id}/complete`, { lease, result: "done", ...(usage === null ? {} : { usage }) });
  return id;
};

const worked = async (count: number): Promise<string[]> => {
  const ids: string[] = [];
  for (let done = 0; done < count; done += 1) ids.push(await work());
  return ids;
};

it("one key floods 500 jobs, and another key's one job goes next", async () => {
  const [busy, calm] = [await world.withKey("standard"), await world.withKey("standard")];
  await present("w");
  await flood(busy, 500);
  const [id] = await flood(calm, 1);
  await work();
  expect(await work()).toBe(id);
});

it("a worker of several places gets its jobs in that order, too", async () => {
  const [busy, calm] = [await world.withKey("standard"), await world.withKey("standard")];
  await flood(busy, 20);
  const [id] = await flood(calm, 1);
  await present("w", { concurrency: 10 });
  expect((await worked(2))[1]).toBe(id);
});

it("keys of unequal weight get unequal shares, and a new weight counts at once", async () => {
  const [heavy, light] = [await world.withKey("standard"), await world.withKey("standard")];
  const changed = await world.ok("PATCH", `/api/keys/${heavy.keyId}`, { weight: 3 });
  expect(changed.weight).toBe(3);
  const ids = new Set(await flood(heavy, 40));
  await flood(light, 40);
  await present("w");
  expect((await worked(16)).filter((id) => ids.has(id))).toHaveLength(12);
  await world.ok("PATCH", `/api/keys/${heavy.keyId}`, { weight: 1 });
  expect((await worked(16)).filter((id) => ids.has(id))).toHaveLength(8);
  expect((await world.patch(`/api/keys/${heavy.keyId}`, { weight: 0.001 })).status).toBe(400);
  expect((await world.patch(`/api/keys/${heavy.keyId}`, { weight: 101 })).status).toBe(400);
});

it("what jobs really took counts, not how many they are", async () => {
  const [long, short] = [await world.withKey("standard"), await world.withKey("standard")];
  const ids = new Set(await flood(long, 50));
  await flood(short, 50);
  await present("w");
  let longs = 0;
  for (let turn = 0; turn < 22; turn += 1) {
    const { jobs } = await world.ok("POST", "/api/workers/w/claim", {});
    const isLong = ids.has(jobs[0].id);
    longs += Number(isLong);
    const usage = { input_tokens: 0, output_tokens: isLong ? 10_000 : 1_000 };
    await world.ok("POST", `/api/jobs/${jobs[0].id}/complete`, { lease: jobs[0].lease, result: "x", usage });
  }
  expect(longs).toBe(2);
});

it("jobs that ask for enormous answers do not go before others once they have ended", async () => {
  const [greedy, calm] = [await world.withKey("standard"), await world.withKey("standard")];
  const ids = new Set(await flood(greedy, 20, { input: { max_tokens: 1e300 } }));
  await flood(calm, 20);
  await present("w");
  const usage = { input_tokens: 0, output_tokens: 100 };
  let greedyCount = 0;
  for (let turn = 0; turn < 20; turn += 1) greedyCount += Number(ids.has(await work(usage)));
  expect(greedyCount).toBe(10);
});

it("a job's fairness_key names its flow, whatever is configured", async () => {
  for (const by of ["key", "user", "none"]) {
    await world.ok("PUT", "/config", { fairness: { by } });
    await present("w", { tags: by });
    await flood(world, 5, { fairness_key: "a", tags: [by] });
    const [id = ""] = await flood(world, 1, { fairness_key: "b", tags: [by] });
    expect((await worked(2))[1]).toBe(id);
    expect((await read(id)).fairness_key).toBe("b");
    await worked(4);
  }
});

it("the header X-Signalbox-User names the person of an ordinary job, too", async () => {
  await world.ok("PUT", "/config", { fairness: { by: "user" } });
  const create = (user: string) =>
    world.post("/api/jobs", { prompt: "x" }, { headers: { "x-signalbox-user": user } }).then(({ body }) => body.id);
  const ann = [await create("ann"), await create("ann"), await create("ann")];
  const bob = await create("bob");
  await present("w");
  expect(await worked(3)).toEqual([ann[0], bob, ann[1]]);
  expect((await read(bob)).fairness_key).toBe("bob");
  const dispatched = await world.post(
    "/dispatch?queue=true",
    { prompt: "x" },
    { headers: { "x-signalbox-user": "eve" } },
  );
  expect(dispatched.body.fairness_key).toBe("eve");
  const refused = await world.post("/api/jobs", { prompt: "x" }, { headers: { "x-signalbox-user": "u".repeat(129) } });
  expect(refused.status).toBe(400);
});

it("without fairness jobs go in order of age", async () => {
  const [busy, calm] = [await world.withKey("standard"), await world.withKey("standard")];
  await world.ok("PUT", "/config", { fairness: { by: "none" } });
  const ids = [...(await flood(busy, 5)), ...(await flood(calm, 1))];
  await present("w");
  expect(await worked(6)).toEqual(ids);
});

it("a schedule gives its fairness_key to its jobs", async () => {
  const made = await world.ok("POST", "/api/schedules", {
    name: "s",
    interval: "1d",
    prompt: "x",
    fairness_key: "reports",
  });
  expect(made.fairness_key).toBe("reports");
  const { job_id } = await world.ok("POST", "/api/schedules/s/run");
  expect((await read(job_id)).fairness_key).toBe("reports");
  expect((await world.ok("PUT", "/api/schedules/s", { fairness_key: null })).fairness_key).toBe(null);
});

it("an object that wakes knows what the jobs that run were charged for", async () => {
  const [busy, calm] = [await world.withKey("standard"), await world.withKey("standard")];
  await present("w", { concurrency: 2 });
  await flood(busy, 10);
  await restart(world);
  const [id] = await flood(calm, 1);
  await restart(world);
  await worked(2);
  expect(await work()).toBe(id);
});

it("20,000 flows take turns, and the jobs of further ones share", async () => {
  await flood(world, 1, { fairness_key: "flow-0" });
  await copyWaitingJob(world, MAX_FLOWS - 1, "flow-0", "'flow-' || i");
  await flood(world, 1, { fairness_key: "flow-0" });
  await flood(world, 2, { fairness_key: "further" });
  await flood(world, 2, { fairness_key: "another" });
  const { groups } = await world.ok("GET", "/api/queue");
  expect(groups[0].flows_total).toBe(MAX_FLOWS + 1);
  expect(groups[0].flows).toHaveLength(20);
  expect(groups[0].flows[0]).toMatchObject({ fairness_key: "flow-0", priority: "normal", waiting: 2, weight: 1 });
});

it("a waiting job says what goes before it, and its share; so do explain and the queue", async () => {
  const [busy, calm] = [await world.withKey("standard"), await world.withKey("standard")];
  await world.ok("PATCH", `/api/keys/${calm.keyId}`, { weight: 3 });
  await present("w");
  const ids = await flood(busy, 3);
  expect((await read(ids[2] ?? "")).waiting_reason).not.toContain("of others");
  const [first = "", second = ""] = await flood(calm, 2);
  expect((await read(first)).waiting_reason).toMatch(/; before the jobs of others: your share is 75 %$/);
  expect((await read(second)).waiting_reason).toMatch(/; before the jobs of others: your share is 75 %$/);
  expect((await read(ids[2] ?? "")).waiting_reason).toMatch(/; behind 2 jobs of others: your share is 25 %$/);
  const explained = await world.ok("GET", `/dispatch/explain?job_id=${ids[1]}`);
  expect(explained.notes).toEqual(["behind 2 jobs of others: your share is 25 %"]);
  const { groups } = await world.ok("GET", "/api/queue");
  // The group's jobs have no turn in common.
  expect(groups[0].reason).not.toContain("of others");
  expect(groups[0].flows).toEqual([
    { key_id: calm.keyId, fairness_key: null, priority: "normal", waiting: 2, weight: 3, share: 0.75 },
    { key_id: busy.keyId, fairness_key: null, priority: "normal", waiting: 2, weight: 1, share: 0.25 },
  ]);
  // For what no worker may have, no turn matters.
  await world.ok("POST", "/api/workers/w/pause", {});
  expect((await read(first)).waiting_reason).not.toContain("of others");
});
