// What a stream costs that was cut: what its worker tells, else an estimate, once.

import { describe, expect, it } from "vitest";
import { clearOf } from "../support/clear-of.ts";
import { alarm, inStorage, newWorld, type World } from "../support/workerd/client.ts";
import { CHAT, chunk, fakeWorker, post, settled, streaming } from "../support/workerd/fake-worker.ts";

describe("a stream that was cut", () => {
  const PRICED = {
    providers: { paid: { pricing: { "*": { input_per_mtok: 1_000_000, output_per_mtok: 1_000_000 } } } },
  };

  const cutStream = async (world: World, key = world.key, more = {}) => {
    const worker = await fakeWorker(world, { provider: "paid" });
    const answering = post(key, CHAT, streaming({ messages: [{ role: "user", content: "x".repeat(400) }], ...more }));
    const job = await worker.nextJob();
    worker.start(job);
    worker.speak(job, chunk("four".repeat(20)));
    const answer = await answering;
    await answer.until((text) => text.includes("four"));
    await world.ok("POST", `/api/jobs/${job.id}/cancel`);
    await answer.whole;
    return { worker, job };
  };
  const isOver15Seconds = (world: World): Promise<unknown> =>
    inStorage(world, ({ sql }) => void sql.exec("UPDATE unreported SET ended_at = ended_at - 60000"));

  it("and whose worker says nothing more costs an estimate: its input and what its relay passed on", async () => {
    await clearOf(300_000);
    const world = await newWorld();
    await world.ok("PUT", "/config", PRICED);
    const { job } = await cutStream(world);
    const saidOf = () =>
      inStorage(world, ({ sql }) =>
        sql
          .exec("SELECT said_chars FROM unreported")
          .toArray()
          .map((row) => row.said_chars),
      );
    await expect.poll(saidOf).toEqual([80]);
    const shown = async () => {
      const { usage, cost_usd } = await world.ok("GET", `/api/jobs/${job.id}`);
      return { usage, cost_usd };
    };
    expect(await shown()).toEqual({ usage: null, cost_usd: null });
    await isOver15Seconds(world);
    await alarm(world);
    const { attempts } = await world.ok("GET", `/api/jobs/${job.id}/attempts`);
    expect(attempts[0]).toMatchObject({ price_source: "estimate", usage: { output_tokens: 20 } });
    expect(attempts[0].usage.input_tokens).toBeGreaterThanOrEqual(100);
    const { total_usd, unpriced_jobs } = await world.ok("GET", "/api/cost?period=day");
    expect([total_usd, unpriced_jobs]).toEqual([attempts[0].usage.input_tokens + 20, 0]);
    const { input_tokens, output_tokens } = attempts[0].usage;
    expect(await shown()).toEqual({ usage: { input_tokens, output_tokens }, cost_usd: total_usd });
    const usage = { input_tokens: 7, output_tokens: 3 };
    const report = { lease: job.lease, result: "late", usage };
    for (let times = 0; times < 2; times += 1) {
      const late = await world.post(`/api/jobs/${job.id}/complete`, report);
      expect([late.status, late.body.code]).toEqual([409, "lease_lost"]);
      const told = await world.ok("GET", `/api/jobs/${job.id}/attempts`);
      expect(told.attempts).toMatchObject([{ price_source: "config", usage, cost_usd: 10 }]);
      const { total_usd, jobs, usage: sum } = await world.ok("GET", "/api/cost?period=day");
      expect([total_usd, jobs, sum]).toEqual([10, 1, expect.objectContaining(usage)]);
      const by = await world.ok("GET", "/api/cost/by/worker?period=day");
      expect(by.rows).toMatchObject([{ usd: 10, jobs: 1 }]);
      expect((await world.ok("GET", "/api/cost/providers?period=day")).budget.day_spent_usd).toBe(10);
      expect((await world.ok("GET", "/api/activity?period=1h")).total.usd).toBe(10);
      expect(await shown()).toEqual({ usage, cost_usd: 10 });
    }
  });

  it("counts against the money of its key's person once its job has left the object", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", PRICED);
    const limits = { per_user: { day_usd: 5 } };
    const made = await world.ok("POST", "/api/keys", { name: "c", role: "client", limits });
    const { job } = await cutStream(world, made.key, { user: "ada" });
    await alarm(world);
    await isOver15Seconds(world);
    await alarm(world);
    const refused = await post(made.key, CHAT, streaming({ user: "ada" }));
    expect([refused.status, JSON.parse(await refused.whole).error.code]).toEqual([429, "insufficient_quota"]);
    await alarm(world);
    const { attempts } = await world.ok("GET", `/api/jobs/${job.id}/attempts`);
    const { usage, cost_usd } = attempts[0];
    expect(cost_usd).toBeGreaterThan(5);
    expect(await world.ok("GET", `/api/jobs/${job.id}`)).toMatchObject({
      status: "cancelled",
      usage: { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens },
      cost_usd,
    });
  });

  it("costs what its worker tells, marked where that is an estimate, and no more later", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", PRICED);
    const { worker, job } = await cutStream(world);
    const usage = { input_tokens: 7, output_tokens: 3 };
    const spent = { type: "job.spent", job_id: job.id, lease: job.lease, usage, usage_estimated: true };
    for (const id of ["once", "again"]) worker.socket.send({ ...spent, id });
    await expect.poll(async () => (await world.ok("GET", "/api/cost?period=day")).total_usd).toBe(10);
    await alarm(world);
    const { attempts } = await world.ok("GET", `/api/jobs/${job.id}/attempts`);
    expect(attempts[0]).toMatchObject({ price_source: "estimate", usage, cost_usd: 10 });
    expect((await world.ok("GET", "/api/cost?period=day")).total_usd).toBe(10);
  });

  it("has in the metrics the tokens that its worker tells beyond the estimate, and never fewer than before", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", PRICED);
    const { job } = await cutStream(world);
    const estimate = async () => (await world.ok("GET", `/api/jobs/${job.id}/attempts`)).attempts[0].usage;
    await expect
      .poll(() => inStorage(world, ({ sql }) => sql.exec("SELECT said_chars FROM unreported").one()))
      .toEqual({
        said_chars: 80,
      });
    await isOver15Seconds(world);
    await alarm(world);
    const { input_tokens, output_tokens } = await estimate();
    const counted = async (kind: string) => {
      const { text } = await world.get("/metrics");
      return Number(new RegExp(`signalbox_tokens_total\\{[^}]*kind="${kind}"\\} (\\d+)`).exec(text)?.[1]);
    };
    expect([await counted("input"), await counted("output")]).toEqual([input_tokens, output_tokens]);
    const usage = { input_tokens: 1_000, output_tokens: 3 };
    await world.post(`/api/jobs/${job.id}/complete`, { lease: job.lease, result: "late", usage });
    expect([await counted("input"), await counted("output")]).toEqual([1_000, output_tokens]);
    expect(await estimate()).toMatchObject(usage);
  });

  it("counts as unpriced where no price is known", async () => {
    const world = await newWorld();
    const { worker, job } = await cutStream(world);
    const usage = { input_tokens: 7, output_tokens: 3 };
    worker.socket.send({ type: "job.spent", id: "s", job_id: job.id, lease: job.lease, usage, usage_estimated: true });
    await expect.poll(async () => (await world.ok("GET", "/api/cost?period=day")).unpriced_jobs).toBe(1);
  });

  it("counts against its key's money, so that leaving streams passes no limit", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", PRICED);
    const made = await world.ok("POST", "/api/keys", { name: "c", role: "client", limits: { day_usd: 5 } });
    const { worker, job } = await cutStream(world, made.key);
    const usage = { input_tokens: 7, output_tokens: 3 };
    worker.socket.send({ type: "job.spent", id: "s", job_id: job.id, lease: job.lease, usage, usage_estimated: true });
    await settled(200);
    const refused = await post(made.key, CHAT, streaming());
    expect([refused.status, JSON.parse(await refused.whole).error.code]).toEqual([429, "insufficient_quota"]);
  });
});
