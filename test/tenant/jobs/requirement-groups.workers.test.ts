// The bound on different requirements that wait: who exceeds it is refused, and nobody else notices.

import { expect, it } from "vitest";
import { MAX_EXAMINED_TAGS, MAX_SKIPPED_REASONS } from "../../../durable-objects/operations/fleet/claims.ts";
import { MAX_GROUPS, MAX_GROUPS_OF_CLIENTS } from "../../../durable-objects/placing/room.ts";
import { eventually } from "../../support/eventually.ts";
import { ageJob, alarm } from "../../support/workerd/client.ts";
import { begin, numbered, whenIs } from "../../support/workerd/embedding-batches.ts";
import { create, present, useOwnTenant, world } from "../../support/workerd/own-tenant.ts";
import { copyWaitingJob } from "../../support/workerd/rows.ts";

useOwnTenant();

const fillWithGroups = async (count = MAX_GROUPS): Promise<void> => {
  await create({ tags: ["gpu", "only-0"] });
  await copyWaitingJob(world, count - 1, "only-0", "'only-' || i");
};

it("takes 9,000 of clients, whose answers in the background wait as long as nobody has their tags", async () => {
  const client = await world.withKey("client");
  await present("w1", { models: ["m"], apis: ["responses"] });
  await fillWithGroups(MAX_GROUPS_OF_CLIENTS);
  const ask = (tags: string) =>
    client.post(
      "/v1/responses",
      { model: "m", input: "x", background: true },
      { headers: { "x-signalbox-tags": tags } },
    );
  const refused = await ask("one-more");
  expect([refused.status, refused.body.error.code]).toEqual([429, "too_many_groups"]);
  expect((await ask("gpu,only-1")).status).toBe(429);
  await create({ tags: ["one-more"] });
  expect((await ask("")).status).toBe(200);
});

it("gives the lines of a client's batch no group beyond those of clients, unless a worker has its model", async () => {
  const client = await world.withKey("client");
  await fillWithGroups(MAX_GROUPS_OF_CLIENTS);
  const clients = await begin(client, numbered(1, "nobodys"));
  await whenIs(client, clients.id, "in_progress");
  await begin(world, numbered(1, "nobodys-either"));
  const made = async (model: string) => (await world.ok("GET", `/api/jobs?model=${model}`)).total;
  await eventually(async () => expect(await made("nobodys-either")).toBe(1));
  expect(await made("nobodys")).toBe(0);
  await present("w1", { models: ["m1"], apis: ["embeddings"] });
  await begin(client, numbered(1));
  await eventually(async () => expect(await made("m1")).toBe(1));
});

it("takes 10,000 groups of requirements and no more; those that wait may grow, and what is taken at once opens none", async () => {
  await present("full", { models: ["echo-of-groups"], apis: ["embeddings"], concurrency: 0 });
  const run_at = new Date(Date.now() + 3_600_000).toISOString();
  const delayed = await create({ tags: ["later"], run_at });
  await fillWithGroups();
  await present("once", { models: ["tried-once"], apis: ["embeddings"] });
  const answer = world.post("/v1/embeddings", { model: "tried-once", input: "x" });
  const [tried] = (await world.ok("POST", "/api/workers/once/claim?wait=5", {})).jobs;
  const error = { code: "overloaded", message: "m", retryable: true, retry_after_seconds: 30 };
  await world.ok("POST", `/api/jobs/${tried.id}/fail`, { lease: tried.lease, error });
  const first = await create({ tags: ["gpu", "only-0"] });
  const refused = await world.post("/api/jobs", { prompt: "x", tags: ["one-more"] });
  expect([refused.status, refused.body.code, refused.headers.get("retry-after")]).toEqual([
    429,
    "too_many_groups",
    "10",
  ]);
  const batch = await world.post("/api/jobs/batch", {
    jobs: [{ prompt: "x", tags: ["gpu", "only-1"] }, { prompt: "x" }],
  });
  expect([batch.status, batch.body.code]).toEqual([429, "too_many_groups"]);
  const queued = await world.post("/dispatch?queue=true", { prompt: "x", tags: ["one-more"] });
  expect([queued.status, queued.body.code]).toEqual([429, "too_many_groups"]);
  const asked = await world.post("/v1/embeddings", { model: "echo-of-groups", input: "x" });
  expect([asked.status, asked.body.error.code]).toEqual([429, "too_many_groups"]);
  await world.ok("POST", "/api/schedules", { name: "s", interval: "1d", prompt: "x", tags: ["one-more"] });
  const run = await world.ok("POST", "/api/schedules/s/run");
  expect(run).toMatchObject({ outcome: "failed", reason: "jobs with 10000 different requirements wait", job_id: null });
  await ageJob(world, delayed.id, 3_600_000, ["readyAt", "runAt"]);
  await alarm(world);
  expect((await world.ok("GET", `/api/jobs/${delayed.id}`)).status).toBe("pending");
  await ageJob(world, tried.id, 3_700_000, ["readyAt", "queueUntilAt"]);
  await alarm(world);
  expect((await answer).body.error.message).toMatch(/^no worker took it within 30 s/);
  const { groups } = await world.ok("GET", "/api/queue");
  expect(groups.map(({ tags }: { tags: string[] }) => tags)).not.toContainEqual(["later"]);
  const patched = await world.patch(`/api/jobs/${first.id}`, { tags: ["another"] });
  expect([patched.status, patched.body.code]).toEqual([429, "too_many_groups"]);

  await present("w1", { tags: "free" });
  const { id } = await create({ tags: ["free"] });
  const { jobs } = await world.ok("POST", "/api/workers/w1/claim", {});
  expect(jobs).toMatchObject([{ id }]);
  await present("w2", { tags: "other" });
  const { skipped } = await world.ok("POST", "/api/workers/w2/claim", {});
  expect(Object.keys(skipped)).toHaveLength(MAX_SKIPPED_REASONS);

  await present("w3", { tags: "gpu,only-7", concurrency: 1 });
  expect((await world.ok("POST", "/api/workers/w3/claim", {})).jobs).toMatchObject([{ tags: ["gpu", "only-7"] }]);
  expect((await world.post("/api/jobs", { prompt: "x", tags: ["one-more"] })).status).toBe(201);
});

it("examines fewer groups for an idle claim if they have many tags, and names few of these", async () => {
  const tags = 32;
  const jobs = Array.from({ length: MAX_EXAMINED_TAGS / tags + 2 }, (_, job) => ({
    prompt: "x",
    tags: Array.from({ length: tags }, (_, tag) => `${job}-${tag + 10}`),
  }));
  await world.ok("POST", "/api/jobs/batch", { jobs });
  await present("idle");
  const { skipped } = await world.ok("POST", "/api/workers/idle/claim", {});
  expect(Object.keys(skipped)).toHaveLength(Math.floor(MAX_EXAMINED_TAGS / tags));
  expect(Object.keys(skipped)[0]).toMatch(/^missing tag 0-10, .*0-17 and 24 more$/);
});
