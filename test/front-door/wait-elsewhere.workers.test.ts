import { expect, it } from "vitest";
import { newWorld } from "../support/workerd/client.ts";
import { CHAT, chat, chatAnswer, fakeWorker, post } from "../support/workerd/fake-worker.ts";

it("a runtime that asks to wait for an hour keeps no client from another worker", async () => {
  const world = await newWorld();
  const resting = await fakeWorker(world);
  const answering = post(world.key, CHAT, chat());
  const job = await resting.nextJob();
  const other = await fakeWorker(world, { instance: "w2", provider: "other" });
  resting.fail(job, { code: "overloaded", status: 503, retryable: true, retry_after_seconds: 3_600 });
  other.complete(await other.nextJob(), chatAnswer("hello"));
  expect((await answering).status).toBe(200);
});
