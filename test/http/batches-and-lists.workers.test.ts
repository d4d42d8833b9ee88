// Section 3 of the contract: many jobs at once, created in a batch or read in a list.

import { describe, expect, it } from "vitest";
import type { Body } from "../support/workerd/client.ts";
import { sendAway } from "../support/workerd/job-steps.ts";
import { create, present, read, useOwnTenant, world } from "../support/workerd/own-tenant.ts";

useOwnTenant();

describe("a batch", () => {
  it("is created in order, all or none", async () => {
    const prompts = Array.from({ length: 500 }, (_, index) => `p${index}`);
    const { status, body } = await world.post("/api/jobs/batch", { jobs: prompts.map((prompt) => ({ prompt })) });
    expect(status).toBe(201);
    expect(body.jobs.map((job: Body) => job.prompt)).toEqual(prompts);
    const refused = await world.post("/api/jobs/batch", {
      jobs: [{ prompt: "a" }, { prompt: "b", tags: ["ok", "not ok"] }, { prompt: "c", promt: 1 }],
    });
    expect(refused.status).toBe(400);
    expect(refused.body.errors.map((one: Body) => one.path)).toEqual(["jobs.1.tags.1", "jobs.2.promt"]);
    expect(refused.text).toContain('did you mean \\"prompt\\"');
    for (const jobs of [[], prompts.concat("x").map((prompt) => ({ prompt })), {}, null]) {
      expect((await world.post("/api/jobs/batch", { jobs })).body.errors[0].path).toBe("jobs");
    }
    expect((await world.ok("GET", "/api/jobs")).total).toBe(500);
  });
});

describe("the list of jobs", () => {
  it("is newest first, pages without gaps, and counts all, whether they are in the object or in history", async () => {
    await present("w1", { concurrency: 3 });
    const made = [];
    for (let index = 0; index < 7; index += 1) made.push((await create({ prompt: `p${index}` })).id);
    for (const id of made.slice(0, 2))
      await world.ok("POST", `/api/jobs/${id}/complete`, { lease: 1, result: `r ${id}` });
    await sendAway(world, ...made.slice(0, 2));
    const seen = [];
    for (let offset = 0; offset < 9; offset += 3) {
      const page = await world.ok("GET", `/api/jobs?limit=3&offset=${offset}`);
      expect(page).toMatchObject({ total: 7, limit: 3, offset });
      seen.push(...page.jobs.map((job: Body) => job.id));
    }
    expect(seen).toEqual(made.toReversed());
    const { jobs } = await world.ok("GET", "/api/jobs");
    for (const job of jobs) expect(job).toEqual(await read(job.id));
  });

  it("is filtered by each field, and by several at once", async () => {
    await present("w1", { provider: "openai", tags: "gpu,a/b" });
    const done = await create({ tags: ["gpu"] });
    await world.ok("POST", `/api/jobs/${done.id}/complete`, { lease: 1, result: 1 });
    const since = new Date(Date.parse(done.created_at) + 1).toISOString();
    await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(since));
    const assigned = await create({ provider: "openai", tags: ["gpu", "a/b"] });
    const waiting = await create({ provider: "openai" });
    const ids = async (query: string): Promise<string[]> => {
      const { jobs, total } = await world.ok("GET", `/api/jobs?${query}`);
      expect(total).toBe(jobs.length);
      return jobs.map((job: Body) => job.id);
    };
    expect(await ids("status=completed")).toEqual([done.id]);
    expect(await ids("status=assigned")).toEqual([assigned.id]);
    expect(await ids("status=pending")).toEqual([waiting.id]);
    expect(await ids("status=failed")).toEqual([]);
    expect(await ids("provider=openai")).toEqual([waiting.id, assigned.id, done.id]);
    expect(await ids("tag=gpu")).toEqual([assigned.id, done.id]);
    expect(await ids("tag=a%2Fb")).toEqual([assigned.id]);
    expect(await ids("worker=w1")).toEqual([assigned.id, done.id]);
    expect(await ids(`since=${since}`)).toEqual([waiting.id, assigned.id]);
    expect(await ids(`provider=openai&since=${since}`)).toEqual([waiting.id, assigned.id]);
    expect(await ids(`provider=openai&until=${since}`)).toEqual([done.id]);
    expect(await ids(`tag=gpu&since=${done.created_at}&until=${since}`)).toEqual([done.id]);
    expect(await ids("tag=gpu&since=2999-01-01T00:00:00Z")).toEqual([]);
    expect(await ids("tag=gpu&until=2020-01-01T00:00:00Z")).toEqual([]);
    expect(await ids("schedule=none")).toEqual([]);
    expect(await ids("tag=gpu&status=assigned&provider=openai&worker=w1")).toEqual([assigned.id]);
    expect(await ids("tag=%27%20OR%201%3D1%20--")).toEqual([]);
  });

  it("shortens what is long and says so; the job itself is whole", async () => {
    await present("w1");
    const prompt = "é".repeat(100_000);
    const { id } = await create({ prompt, input: { long: "x".repeat(20_000) } });
    const result = { long: "y".repeat(20_000) };
    await world.ok("POST", `/api/jobs/${id}/complete`, { lease: 1, result });
    const { jobs } = await world.ok("GET", "/api/jobs");
    expect(jobs[0].truncated).toEqual(["prompt", "input", "result"]);
    expect(jobs[0].prompt.length).toBeLessThan(prompt.length);
    const { jobs: brief } = await world.ok("GET", "/api/jobs?max_chars=200");
    expect(brief[0]).toMatchObject({ prompt: "é".repeat(200), input: null, result: null });
    expect(brief[0].truncated).toEqual(["prompt", "input", "result"]);
    expect((await world.get("/api/jobs?max_chars=16385")).status).toBe(400);
    await create({ prompt: "hi" });
    const { jobs: briefest } = await world.ok("GET", "/api/jobs?max_chars=0");
    expect(briefest.map((job: Body) => [job.prompt, job.input, job.result, job.truncated])).toEqual([
      ["", null, null, ["prompt"]],
      ["", null, null, ["prompt", "input", "result"]],
    ]);
    for (const where of ["in the object", "in history"]) {
      expect([where, await read(id)]).toEqual([where, expect.objectContaining({ prompt, result })]);
      if (where === "in the object") await sendAway(world, id);
    }
  });
});
