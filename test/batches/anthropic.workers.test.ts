// Anthropic's own client: a batch of messages.

import { evictDurableObject } from "cloudflare:test";
import Anthropic from "@anthropic-ai/sdk";
import { expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { batchWorker } from "../support/workerd/batch-worker.ts";
import { type Body, newWorld, ORIGIN } from "../support/workerd/client.ts";
import { edgeFetch } from "../support/workerd/edge.ts";

const clientOf = (key: string | null, headers: Record<string, string> = {}): Anthropic =>
  new Anthropic({
    apiKey: key ?? "",
    baseURL: ORIGIN,
    maxRetries: 0,
    defaultHeaders: headers,
    fetch: (url, init) => edgeFetch(String(url), init as RequestInit),
  });

const request = (name: string): Anthropic.Messages.BatchCreateParams.Request => ({
  custom_id: name,
  params: { model: "m1", max_tokens: 9, messages: [{ role: "user", content: `say "${name}" \\ {[ é` }] },
});

const message = (job: Body): Body => ({
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: job.custom_id }],
});

const whenEnded = (client: Anthropic, id: string) =>
  eventually(async () => {
    const batch = await client.messages.batches.retrieve(id);
    expect(batch.processing_status).toBe("ended");
    return batch;
  });

it("a list goes on behind a batch that was deleted, also after the object has been away", async () => {
  const world = await newWorld();
  const client = clientOf(world.key);
  const worker = await batchWorker(world, (job) => ({ result: message(job) }));
  const made: string[] = [];
  for (const id of ["a", "b", "c"]) {
    const { id: batch } = await client.messages.batches.create({ requests: [request(id)] });
    await whenEnded(client, batch);
    made.unshift(batch);
  }
  const listed: string[] = [];
  for await (const { id } of client.messages.batches.list({ limit: 1 })) {
    listed.push(id);
    await client.messages.batches.delete(id);
    await evictDurableObject(world.stub);
  }
  expect(listed).toEqual(made);
  const stranger = clientOf((await world.withKey("client")).key);
  await expect(stranger.messages.batches.list({ after_id: made[0] ?? "" })).rejects.toMatchObject({ status: 404 });
  await worker.stop();
});

it("its lines are found among the jobs by either of its names", async () => {
  const world = await newWorld();
  const { id } = await clientOf(world.key).messages.batches.create({ requests: [request("a"), request("b")] });
  for (const name of [id, id.replace("msgbatch_", "batch_")])
    await eventually(async () => expect((await world.ok("GET", `/api/jobs?batch=${name}`)).total).toBe(2));
});

it("a body of another media type is refused", async () => {
  const world = await newWorld();
  const headers = { "content-type": "text/plain" };
  const raw = JSON.stringify({ requests: [request("a")] });
  expect((await world.post("/v1/messages/batches", undefined, { headers, raw })).status).toBe(415);
});

it("is in progress in the answer to its creation, however soon its lines are answered", async () => {
  const world = await newWorld();
  const client = clientOf(world.key);
  const worker = await batchWorker(world, (job) => ({ result: message(job) }));
  for (let count = 0; count < 5; count += 1) {
    const created = await client.messages.batches.create({ requests: [request("a")] });
    expect(created).toMatchObject({ processing_status: "in_progress", ended_at: null, results_url: null });
    expect(created.request_counts).toEqual({ processing: 1, succeeded: 0, errored: 0, canceled: 0, expired: 0 });
    await whenEnded(client, created.id);
  }
  await worker.stop();
});

it("creates, polls, pages, reads results, and deletes", async () => {
  const world = await newWorld();
  const client = clientOf(world.key);
  const worker = await batchWorker(world, (job) =>
    job.custom_id === "r1"
      ? { error: { code: "bad_request", message: "too long", status: 400, retryable: false } }
      : { result: message(job) },
  );
  const names = Array.from({ length: 25 }, (_, at) => `r${at}`);
  const created = await client.messages.batches.create({ requests: names.map((name) => request(name)) });
  expect(created).toMatchObject({ type: "message_batch", results_url: null, request_counts: { succeeded: 0 } });
  expect(created.id).toMatch(/^msgbatch_/);
  const batch = await whenEnded(client, created.id);
  expect(batch.request_counts).toEqual({ processing: 0, succeeded: 24, errored: 1, canceled: 0, expired: 0 });
  expect(batch.results_url).toBe(`${ORIGIN}/v1/messages/batches/${batch.id}/results`);
  const results: Body[] = [];
  for await (const one of await client.messages.batches.results(batch.id)) results.push(one);
  expect(results.map(({ custom_id: name }) => name)).toEqual(names);
  expect(results[0]).toEqual({ custom_id: "r0", result: { type: "succeeded", message: message({ custom_id: "r0" }) } });
  expect(results[1].result).toMatchObject({
    type: "errored",
    error: { type: "error", error: { type: "invalid_request_error", message: "too long" } },
  });
  expect(worker.jobs[0]).toMatchObject({ api: "messages", input: { model: "m1", max_tokens: 9 } });
  await worker.stop();
  const other = await client.messages.batches.create({ requests: [request("x")] });
  const early = await world.get(`/v1/messages/batches/${other.id}/results`);
  expect([early.status, early.body.error.message]).toEqual([409, expect.stringContaining("read the results")]);
  const listed: string[] = [];
  for await (const one of client.messages.batches.list({ limit: 1 })) listed.push(one.id);
  expect(listed).toEqual([other.id, batch.id]);
  const newer = await client.messages.batches.list({ before_id: batch.id });
  expect(newer.data.map(({ id }) => id)).toEqual([other.id]);
  const beside = { after_id: batch.id, before_id: other.id };
  await expect(client.messages.batches.list(beside)).rejects.toMatchObject({ status: 400 });
  await expect(client.messages.batches.list({ after_id: "msgbatch_none" })).rejects.toMatchObject({
    status: 404,
    error: { error: { message: 'batch "msgbatch_none" not found' } },
  });
  const late = await world.post(`/v1/messages/batches/${batch.id}/cancel`);
  expect([late.status, late.body.error.message]).toEqual([409, `cannot cancel batch ${batch.id}: it is completed`]);
  expect(await client.messages.batches.delete(batch.id)).toEqual({ id: batch.id, type: "message_batch_deleted" });
  await expect(client.messages.batches.retrieve(batch.id)).rejects.toMatchObject({
    status: 404,
    error: { error: { message: `batch "${batch.id}" not found` } },
  });
  expect((await world.get("/api/files")).body.files.map(({ name }: Body) => name)).not.toContain(`${batch.id}.jsonl`);
});

it("is one batch with OpenAI's form, under both names", async () => {
  const world = await newWorld();
  const { id } = await clientOf(world.key).messages.batches.create({ requests: [request("a")] });
  const own = id.replace("msg", "");
  // Its line becomes a job, which has a reason to wait, some turns later.
  await expect
    .poll(() => world.ok("GET", `/api/batches/${id}`))
    .toMatchObject({
      id: own,
      endpoint: "/v1/messages",
      total: 1,
      waiting: 1,
      waiting_reason: expect.stringContaining("no worker is registered"),
    });
  expect(await world.ok("GET", `/v1/batches/${own}`)).toMatchObject({ id: own, object: "batch" });
});

it("is refused at once for what is wrong with a request, and leaves nothing", async () => {
  const world = await newWorld();
  const client = clientOf(world.key);
  const twice = client.messages.batches.create({ requests: [request("a"), request("b"), request("a")] });
  await expect(twice).rejects.toMatchObject({
    status: 400,
    error: {
      type: "error",
      error: {
        type: "invalid_request_error",
        message: 'requests.2.custom_id: custom_id "a" is in requests.0, too',
      },
    },
  });
  await expect(client.messages.batches.create({ requests: [] })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining("requests: must have at least one request"),
  });
  const odd = [request("a"), "b"] as unknown as Anthropic.Messages.BatchCreateParams.Request[];
  await expect(client.messages.batches.create({ requests: odd })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining("requests.1"),
  });
  const bare = [{ custom_id: "a" }] as unknown as Anthropic.Messages.BatchCreateParams.Request[];
  await expect(client.messages.batches.create({ requests: bare })).rejects.toMatchObject({
    message: expect.stringContaining("requests.0.params: params must be a JSON object"),
  });
  expect((await world.get("/api/batches")).body.total).toBe(0);
  expect((await world.get("/api/files")).body.total).toBe(0);
});

it("gives the address of its results as the client's proxy names it", async () => {
  const world = await newWorld();
  const worker = await batchWorker(world, (job) => ({ result: message(job) }));
  const proxied = clientOf(world.key, { "x-forwarded-proto": "https", "x-forwarded-host": "llm.example.org" });
  const { id } = await proxied.messages.batches.create({ requests: [request("a")] });
  const batch = await whenEnded(proxied, id);
  expect(batch.results_url).toBe(`https://llm.example.org/v1/messages/batches/${id}/results`);
  await worker.stop();
});
