// Deployed, a new version ends every object, and with it the relays of open streams.

import { abortAllDurableObjects } from "cloudflare:test";
import { expect, it } from "vitest";
import { newWorld } from "../support/workerd/client.ts";
import { CHAT, chat, chunk, fakeWorker, post } from "../support/workerd/fake-worker.ts";

it("a stream whose relay dies ends with an error event", async () => {
  const world = await newWorld();
  const worker = await fakeWorker(world);
  const answering = post(world.key, CHAT, chat({ stream: true }));
  const job = await worker.nextJob();
  worker.say(job, chunk("Hel"));
  const answer = await answering;
  await answer.until((text) => text.includes("Hel"));
  await abortAllDurableObjects();
  const whole = await answer.whole;
  expect(whole).toContain("Hel");
  expect(whole).toMatch(/\n\ndata: \{"error":\{.*"code":"stream_lost".*\}\}\n\n/);
});
