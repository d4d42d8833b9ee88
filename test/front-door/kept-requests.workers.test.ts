import { expect, it } from "vitest";
import { newWorld } from "../support/workerd/client.ts";
import { CHAT, chat, chatAnswer, fakeWorker, post } from "../support/workerd/fake-worker.ts";

it.each([
  ["none", { prompt: "", input: null, result: null }],
  ["result", { prompt: "say hello", input: null, result: chatAnswer("hello") }],
  ["all", { prompt: "say hello", input: chat(), result: chatAnswer("hello") }],
] as const)("history keeps of a request what front_door.store: %s says", async (store, kept) => {
  const world = await newWorld();
  await world.ok("PUT", "/config", { front_door: { store } });
  const worker = await fakeWorker(world);
  const answering = post(world.key, CHAT, chat());
  const job = await worker.nextJob();
  expect(await world.ok("GET", `/api/jobs/${job.id}`)).toMatchObject({ prompt: "say hello", input: chat() });
  worker.complete(job, chatAnswer("hello"));
  await answering;
  expect(await world.ok("GET", `/api/jobs/${job.id}`)).toMatchObject({ status: "completed", ...kept });
  const { jobs } = await world.ok("GET", "/api/jobs");
  expect(jobs[0]).toMatchObject({ id: job.id, ...kept });
});
