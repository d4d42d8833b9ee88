// A client that has a whole answer may refer to it in the next moment, however late its worker reports it.

import { describe, expect, it } from "vitest";
import { newWorld } from "../support/workerd/client.ts";
import { fakeWorker, post, responseEvent, settled } from "../support/workerd/fake-worker.ts";

const RESPONSES = "/v1/responses";

const WHOLE = {
  id: "resp_of_the_runtime",
  object: "response",
  status: "completed",
  model: "m1",
  output: [{ id: "msg_1", type: "message", role: "assistant", content: [{ type: "output_text", text: "hello" }] }],
};

describe.each([false, true])("a streamed answer, in the background: %s", (background) => {
  it("comes whole once it is stored", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, RESPONSES, { model: "m1", input: "say hello", stream: true, background });
    const job = await worker.nextJob();
    worker.start(job);
    worker.speak(
      job,
      responseEvent("response.created", 0, { response: { ...WHOLE, status: "in_progress", output: [] } }),
    );
    worker.say(job, responseEvent("response.output_text.delta", 1, { delta: "hello" }));
    worker.say(job, responseEvent("response.completed", 2, { response: WHOLE }));
    worker.end(job);
    const answer = await answering;
    await answer.until((text) => text.includes("delta"));
    await settled(300);
    expect(answer.text()).not.toContain("response.completed");
    worker.complete(job, WHOLE);
    const events = (await answer.whole).split("\n\n").filter((text) => text.startsWith("event: "));
    expect(events).toHaveLength(3);
    expect(events.at(-1)).toContain('"sequence_number":2');
    const followed = post(world.key, RESPONSES, { model: "m1", input: "more", previous_response_id: `resp_${job.id}` });
    const next = await worker.nextJob();
    worker.complete(next, WHOLE);
    expect((await followed).status).toBe(200);
  });
});

it("a streamed answer whose worker never reports it comes all the same", async () => {
  const world = await newWorld();
  const worker = await fakeWorker(world);
  const answering = post(world.key, RESPONSES, { model: "m1", input: "say hello", stream: true });
  const job = await worker.nextJob();
  worker.speak(job, responseEvent("response.completed", 0, { response: WHOLE }));
  worker.end(job);
  expect(await (await answering).whole).toContain("response.completed");
});

type World = Awaited<ReturnType<typeof newWorld>>;
const ENDS: readonly [why: string, end: (world: World, facts: { jobId: string; keyId: string }) => unknown][] = [
  ["killswitch_active", (world) => world.ok("POST", "/killswitch", { level: 1 })],
  ["cancelled", (world, { jobId }) => world.ok("POST", `/api/jobs/${jobId}/cancel`)],
  ["invalid_api_key", (world, { keyId }) => world.delete(`/api/keys/${keyId}`)],
];

it.each(ENDS)("%s before a whole answer is stored ends its stream, as it ends its job", async (code, end) => {
  const world = await newWorld();
  const worker = await fakeWorker(world);
  const client = await world.ok("POST", "/api/keys", { name: "c", role: "client" });
  const answering = post(client.key, RESPONSES, { model: "m1", input: "say hello", stream: true });
  const job = await worker.nextJob();
  worker.speak(
    job,
    responseEvent("response.created", 0, { response: { ...WHOLE, status: "in_progress", output: [] } }),
  );
  const answer = await answering;
  worker.say(job, responseEvent("response.completed", 1, { response: WHOLE }));
  worker.end(job);
  await settled(300);
  await end(world, { jobId: job.id, keyId: client.id });
  const [, last = ""] = (await answer.whole).split("\n\n").filter((event) => event !== "");
  expect(JSON.parse(last.split("data: ")[1] ?? "")).toMatchObject({
    type: "response.failed",
    sequence_number: 2,
    response: { id: `resp_${job.id}`, error: { code } },
  });
  expect(answer.text()).not.toContain("response.completed");
  expect((await world.ok("GET", `/api/jobs/${job.id}`)).status).toBe("cancelled");
});
