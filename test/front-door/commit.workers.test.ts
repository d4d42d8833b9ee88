// When the answer to a request that is not streamed begins, before its job has ended.

import { describe, expect, it } from "vitest";
import { newWorld } from "../support/workerd/client.ts";
import { CHAT, chat, chatAnswer, fakeWorker, post } from "../support/workerd/fake-worker.ts";

/** An answer that has begun while a worker has its job. */
const begun = async () => {
  const world = await newWorld();
  await world.ok("PUT", "/config", { front_door: { commit_after_seconds: 0.1 } });
  const worker = await fakeWorker(world);
  const answering = post(world.key, CHAT, chat());
  const job = await worker.nextJob();
  return { worker, job, answer: await answering };
};

describe("an answer that is not streamed", () => {
  it("begins after a while, with line feeds", async () => {
    const { worker, job, answer } = await begun();
    expect([answer.status, await answer.until((text) => text !== "")]).toEqual([200, "\n"]);
    worker.complete(job, chatAnswer("late"));
    expect(JSON.parse(await answer.whole)).toEqual(chatAnswer("late"));
  });

  it("does not begin while no worker has it: that nobody took it has a status", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { front_door: { commit_after_seconds: 0.2 } });
    await fakeWorker(world);
    const headers = { "x-signalbox-queue": "1", "x-signalbox-tags": "nobody-has-it" };
    const answer = await post(world.key, CHAT, chat(), headers);
    expect([answer.status, JSON.parse(await answer.whole).error.code]).toEqual([503, "no_eligible_workers"]);
  });

  it("begins in the end although no worker has it, so that proxies keep the connection", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { front_door: { commit_after_seconds: 0.1 } });
    await fakeWorker(world, { concurrency: 0 });
    const answer = await post(world.key, CHAT, chat());
    expect(answer.status).toBe(200);
    const worker = await fakeWorker(world, { instance: "w2" });
    worker.complete(await worker.nextJob(), chatAnswer("late"));
    expect(JSON.parse(await answer.whole)).toEqual(chatAnswer("late"));
  });

  it("does not begin between two attempts: that the last of them failed has a status", async () => {
    const world = await newWorld();
    const jobs = { max_attempts: 2, retry: { backoff_seconds: 6 } };
    await world.ok("PUT", "/config", { jobs, front_door: { commit_after_seconds: 2 } });
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, chat());
    for (const lease of [1, 2]) {
      const job = await worker.nextJob();
      expect(job.lease).toBe(lease);
      // The next attempt, too, may take its time.
      if (lease === 2) await new Promise((resolve) => setTimeout(resolve, 2_500));
      worker.fail(job, { code: "internal", status: 500, retryable: true });
    }
    const answer = await answering;
    expect([answer.status, JSON.parse(await answer.whole).error.code]).toEqual([502, "internal"]);
  });

  it("breaks when it fails after it began", async () => {
    const { worker, job, answer } = await begun();
    worker.fail(job, { code: "boom" });
    await expect(answer.whole).rejects.toThrow();
  });
});
