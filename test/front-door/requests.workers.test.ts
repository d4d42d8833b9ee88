import { listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ageJob, alarm, inStorage, isOnLines, newWorld } from "../support/workerd/client.ts";
import { APIS, CHAT, chat, chatAnswer, fakeWorker, heldBody, post } from "../support/workerd/fake-worker.ts";

describe("a request that is not streamed", () => {
  it("is a job, whose result is the answer", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, chat({ temperature: 0.5, unheard_of: { a: 1 } }), {
      "x-signalbox-tags": "",
    });
    const job = await worker.nextJob();
    expect(job).toMatchObject({
      api: "chat/completions",
      stream: false,
      prompt: "say hello",
      model: "m1",
      input: { model: "m1", temperature: 0.5, unheard_of: { a: 1 } },
    });
    worker.complete(job, chatAnswer("hello"), { usage: { input_tokens: 1, output_tokens: 2 } });
    const answer = await answering;
    expect(answer.status).toBe(200);
    expect(JSON.parse(await answer.whole)).toEqual(chatAnswer("hello"));
    expect(answer.headers.get("x-signalbox-job")).toBe(job.id);
    expect(answer.headers.get("x-signalbox-worker")).toBe("w1");
    expect(answer.headers.get("x-signalbox-session")).toBe("miss");
    expect(answer.headers.get("content-type")).toBe("application/json");
    const read = await world.ok("GET", `/api/jobs/${job.id}`);
    expect(read).toMatchObject({ status: "completed", api: "chat/completions", result: chatAnswer("hello") });
  });

  it("takes the key as x-api-key, and answers Anthropic's clients in their words", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const headers = { "x-api-key": world.key ?? "", "anthropic-version": "2023-06-01", "anthropic-beta": "b1" };
    const answering = post(null, "/v1/messages?beta=true&beta=false", chat({ system: "be kind" }), headers);
    const job = await worker.nextJob();
    expect(job).toMatchObject({
      api: "messages",
      headers: { "anthropic-version": "2023-06-01", "anthropic-beta": "b1" },
    });
    worker.complete(job, { type: "message", content: [] });
    const answer = await answering;
    expect(answer.headers.get("request-id")).toBe(answer.headers.get("x-request-id"));
    expect(JSON.parse(await answer.whole)).toEqual({ type: "message", content: [] });
    const refused = await post(null, "/v1/messages", chat({ model: "nobody's" }), headers);
    expect(refused.status).toBe(404);
    expect(JSON.parse(await refused.whole)).toMatchObject({
      type: "error",
      error: { type: "not_found_error" },
      request_id: refused.headers.get("x-request-id"),
    });
  });

  it("is 404 for what OpenAI's API has beside a response, as for any other path that is not offered", async () => {
    const world = await newWorld();
    for (const path of ["/v1/responses/compact", "/v1/responses/input_tokens", "/v1/conversations"]) {
      const refused = await post(world.key, path, chat());
      expect([path, refused.status, JSON.parse(await refused.whole).error.code]).toEqual([path, 404, "not_found"]);
    }
  });

  it("names five models that there are when it asks for another", async () => {
    const world = await newWorld();
    await fakeWorker(world, { models: ["a", "b", "c", "d", "e", "f"] });
    const refused = await post(world.key, CHAT, chat({ model: "zz" }));
    expect(refused.status).toBe(404);
    const { error } = JSON.parse(await refused.whole);
    expect(error).toMatchObject({ type: "not_found_error", code: "model_not_found", param: "model" });
    expect(error.message).toContain("a, b, c, d, e");
    expect(error.message).not.toContain(" f");
  });

  it("finds a model by an alias, by its provider, and without its tag or owner", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { front_door: { aliases: { "claude-local": { model: "llama3.2", tags: [] } } } });
    const worker = await fakeWorker(world, { models: ["llama3.2:latest", "org/qwen"] });
    for (const [asked, meant] of [
      ["claude-local", "llama3.2:latest"],
      ["llama3.2", "llama3.2:latest"],
      ["qwen", "org/qwen"],
      ["local/llama3.2", "llama3.2:latest"],
    ]) {
      const answering = post(world.key, CHAT, chat({ model: asked }));
      const job = await worker.nextJob();
      expect([asked, job.model, job.input.model]).toEqual([asked, meant, meant]);
      worker.complete(job, {});
      await answering;
    }
  });

  it("gives a runtime's own refusal on as it is, but hides its own key's", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    for (const [error, status, code] of [
      [{ code: "context_length", message: "too long", status: 400 }, 400, "context_length_exceeded"],
      [{ code: "weird", message: "no", status: 418 }, 418, "weird"],
      [{ code: "unauthorized", message: "bad key", status: 401 }, 502, "provider_refused"],
      [{ code: "rate_limited", message: "slow", status: 429 }, 429, "rate_limit_exceeded"],
      [{ code: "internal", message: "broke", status: 500, retryable: false }, 502, "internal"],
      [{ code: "invalid_api_key", message: "its own key", status: 401 }, 502, "provider_refused"],
      [{ code: "not_found", message: "no such tool", status: 422 }, 422, "not_found"],
      [{ code: "runtime_unreachable", message: "no answer", retryable: false }, 502, "runtime_unreachable"],
      [{ code: "boom", message: "broke" }, 500, "boom"],
    ] as const) {
      const answering = post(world.key, CHAT, chat());
      worker.fail(await worker.nextJob(), error);
      const answer = await answering;
      const told = JSON.parse(await answer.whole).error;
      expect([answer.status, told.code, told.message]).toEqual([status, code, error.message]);
    }
  });

  it("is not retried once it has failed, because nobody waits for it: its client sends it again", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, chat());
    const { id } = await worker.nextJob();
    worker.fail({ id, lease: 1 }, { code: "weird", message: "no", status: 418 });
    await answering;
    const { status, body } = await world.post(`/api/jobs/${id}/retry`);
    expect([status, body.code]).toEqual([409, "job_state"]);
    expect(body.detail).toBe(
      `cannot retry job ${id}: it is failed, and nobody waits for its answer: send the request again`,
    );
  });

  it("is told when to ask again as its provider said, or in a second", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    for (const [retry_after_seconds, told] of [
      [9, "9"],
      [undefined, "1"],
    ] as const) {
      const answering = post(world.key, CHAT, chat());
      worker.fail(await worker.nextJob(), { code: "slow_down", status: 429, retry_after_seconds });
      const { status, headers } = await answering;
      expect([status, headers.get("retry-after"), headers.get("x-should-retry")]).toEqual([429, told, null]);
    }
  });

  it("waits in the queue for as long as it says, then tells whether nobody could or nobody had room", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world, { concurrency: 1, apis: ["chat/completions"] });
    const none = await post(world.key, "/v1/embeddings", { model: "m1", input: "x" }, { "x-signalbox-queue": "0" });
    expect([none.status, JSON.parse(await none.whole).error.code]).toEqual([503, "no_eligible_workers"]);
    expect(none.headers.get("retry-after")).toBe("5");
    void post(world.key, CHAT, chat());
    await worker.nextJob();
    const full = await post(world.key, CHAT, chat(), { "x-signalbox-queue": "0.3" });
    expect([full.status, JSON.parse(await full.whole).error.code]).toEqual([504, "queue_timeout"]);
    expect(full.headers.get("x-should-retry")).toBe("false");
  });

  it("answers again what it answered under the same Idempotency-Key", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const headers = { "idempotency-key": "k1" };
    const first = post(world.key, CHAT, chat(), headers);
    const job = await worker.nextJob();
    worker.complete(job, chatAnswer("hello"));
    expect((await first).status).toBe(200);
    const second = await post(world.key, CHAT, chat(), headers);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect(second.headers.get("x-signalbox-job")).toBe(job.id);
    expect(JSON.parse(await second.whole)).toEqual(chatAnswer("hello"));
    expect((await post(world.key, CHAT, chat({ stream: true }), headers)).status).toBe(400);
    expect((await post(world.key, CHAT, chat({ seed: 1 }), headers)).status).toBe(422);
  });

  it("leaves nothing behind under its Idempotency-Key when its client leaves before the answer", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const headers = { "idempotency-key": "k" };
    const left = post(world.key, CHAT, chat(), headers);
    const job = await worker.nextJob();
    await runInDurableObject(world.stub, (tenant) => tenant.readerGone(job.id, job.lease, false));
    expect((await left).status).toBe(499);
    const again = post(world.key, CHAT, chat(), headers);
    worker.complete(await worker.nextJob(), chatAnswer("hello"));
    const { status, headers: told } = await again;
    expect([status, told.has("idempotency-replayed")]).toEqual([200, false]);
    expect((await post(world.key, CHAT, chat(), headers)).headers.get("idempotency-replayed")).toBe("true");
  });

  it("is made anew for a client that repeats it, when the client that asked first leaves", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const ask = () => post(world.key, CHAT, chat(), { "idempotency-key": "k" });
    const left = ask();
    const job = await worker.nextJob();
    const stays = ask();
    await scheduler.wait(200);
    await runInDurableObject(world.stub, (tenant) => tenant.readerGone(job.id, job.lease, false));
    expect((await left).status).toBe(499);
    const again = await worker.nextJob();
    worker.complete(again, chatAnswer("hello"));
    const { status, headers, whole } = await stays;
    expect([status, headers.get("x-signalbox-job")]).toEqual([200, again.id]);
    expect(JSON.parse(await whole)).toEqual(chatAnswer("hello"));
  });

  it("gets a runtime's own client_closed again when it is repeated, as any other failure", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const ask = () => post(world.key, CHAT, chat(), { "idempotency-key": "k" });
    const first = ask();
    worker.fail(await worker.nextJob(), { code: "client_closed", status: 400, retryable: false });
    expect((await first).status).toBe(400);
    const again = await ask();
    expect([again.status, JSON.parse(await again.whole).error.code]).toEqual([400, "client_closed"]);
  });

  it("leaves nothing behind of a body over 1 MiB that it answers again", async () => {
    // Other files of tests may have left some.
    const earlier = new Set((await listDurableObjectIds(env.RELAY)).map(String));
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const ask = () => post(world.key, CHAT, chat({ filling: "x".repeat(1_100_000) }), { "idempotency-key": "k" });
    const keptBodies = async (): Promise<number> => {
      const ids = (await listDurableObjectIds(env.RELAY)).filter((id) => !earlier.has(String(id)));
      const tables = (id: DurableObjectId): Promise<number> =>
        runInDurableObject(env.RELAY.get(id), (_relay, { storage }) => storage.sql.databaseSize);
      const sizes = await Promise.all(ids.map(tables));
      return sizes.filter((size) => size > 1_000_000).length;
    };
    const first = ask();
    worker.complete(await worker.nextJob(), chatAnswer("hello"));
    expect((await first).status).toBe(200);
    expect((await ask()).headers.get("idempotency-replayed")).toBe("true");
    await expect.poll(keptBodies).toBe(0);
  });

  it.skipIf(isOnLines)("answers again when its job is in history alone, unless that keeps no answer", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    for (const [store, status] of [
      ["result", 200],
      ["none", 404],
    ] as const) {
      await world.ok("PUT", "/config", { front_door: { store } });
      const headers = { "idempotency-key": store };
      const first = post(world.key, CHAT, chat(), headers);
      worker.complete(await worker.nextJob(), chatAnswer("hello"));
      const id = (await first).headers.get("x-signalbox-job") ?? "";
      await ageJob(world, id, 60_000, ["finishedAt", "updatedAt"]);
      const isLive = (storage: DurableObjectStorage) =>
        storage.sql.exec("SELECT 1 FROM jobs WHERE id = ?", id).toArray().length > 0;
      await expect
        .poll(async () => {
          await alarm(world);
          return inStorage(world, isLive);
        })
        .toBe(false);
      const second = await post(world.key, CHAT, chat(), headers);
      expect([store, second.status, second.headers.get("idempotency-replayed")]).toEqual([store, status, "true"]);
      if (status === 200) expect(JSON.parse(await second.whole)).toEqual(chatAnswer("hello"));
    }
  });

  it("is refused in OpenAI's shape where it cannot be kept: conversations, unknown paths, bad keys", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const refused = await post(world.key, "/v1/responses", { model: "m1", input: "x", conversation: "c" });
    const { error } = JSON.parse(await refused.whole);
    expect([refused.status, error.code, error.param]).toEqual([400, "unsupported_parameter", "conversation"]);
    const answering = post(world.key, "/v1/responses", { model: "m1", input: "x", store: true });
    const job = await worker.nextJob();
    expect(job.input.store).toBe(false);
    worker.complete(job, {});
    await answering;
    const unknown = await post(world.key, "/v1/moderations", {});
    expect([unknown.status, JSON.parse(await unknown.whole).error.code]).toEqual([404, "not_found"]);
    const counting = await post(world.key, "/v1/messages/count_tokens", {});
    expect([counting.status, JSON.parse(await counting.whole).type]).toEqual([404, "error"]);
    await fakeWorker(world, { instance: "w2", models: ["m2"], apis: ["messages/count_tokens"] });
    const counted = await post(world.key, "/v1/messages/count_tokens", { model: "m1", messages: [] });
    expect([counted.status, JSON.parse(await counted.whole).error.message]).toEqual([
      404,
      "no worker offers /v1/messages/count_tokens for this request: start one whose runtime has it",
    ]);
    const stranger = await post("nonsense", CHAT, chat());
    expect([stranger.status, JSON.parse(await stranger.whole).error]).toMatchObject([
      401,
      { type: "authentication_error", code: "invalid_api_key" },
    ]);
    expect(stranger.headers.get("www-authenticate")).toContain("Bearer");
    expect((await world.get("/v1/nothing")).body.error.type).toBe("not_found_error");
  });

  it("says in its body whether it may go to a hosted provider: another word is refused, not overheard", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    for (const edge of ["no", 0, [], ["true"], { toString: 1 }]) {
      const refused = await post(world.key, CHAT, chat({ edge }));
      expect([refused.status, JSON.parse(await refused.whole).error.param]).toEqual([400, "edge"]);
    }
    for (const [edge, mayGo] of [
      [false, false],
      [true, true],
      [null, true],
    ] as const) {
      const answering = post(world.key, CHAT, chat({ edge }));
      const job = await worker.nextJob();
      expect([job.edge, job.input.edge]).toEqual([mayGo, undefined]);
      worker.complete(job, chatAnswer("hello"));
      expect((await answering).status).toBe(200);
    }
  });

  it("has tokens counted by a worker that offers it, also where that worker is full now", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world, { apis: [...APIS, "messages/count_tokens"], concurrency: 1 });
    const body = { model: "m1", messages: [{ role: "user", content: "say hello" }] };
    const chatting = post(world.key, CHAT, chat());
    const first = await worker.nextJob();
    const counting = post(world.key, "/v1/messages/count_tokens?beta=true", body, {
      "anthropic-version": "2023-06-01",
    });
    worker.complete(first, chatAnswer("hello"));
    await chatting;
    const job = await worker.nextJob();
    expect(job).toMatchObject({ api: "messages/count_tokens", input: body, prompt: "say hello", stream: false });
    expect(job.headers).toEqual({ "anthropic-version": "2023-06-01" });
    worker.complete(job, { input_tokens: 9 });
    const answered = await counting;
    expect([answered.status, JSON.parse(await answered.whole)]).toEqual([200, { input_tokens: 9 }]);
    expect(answered.headers.get("request-id")).toEqual(expect.any(String));
  });

  it("says more in its headers, and flex, fast and priority in service_tier", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world, { tags: "gpu,eu" });
    const headers = {
      "x-signalbox-tags": "gpu, eu",
      "x-signalbox-tier": "premium",
      "x-signalbox-timeout": "12",
      "x-signalbox-provider": "local",
    };
    const answering = post(world.key, CHAT, chat({ service_tier: "priority" }), headers);
    const job = await worker.nextJob();
    expect(job).toMatchObject({
      tags: ["gpu", "eu"],
      tier: "premium",
      timeout_seconds: 12,
      provider: "local",
      priority: "high",
    });
    worker.complete(job, {});
    await answering;
    const fast = post(world.key, CHAT, chat({ service_tier: "fast" }));
    const sooner = await worker.nextJob();
    expect(sooner.priority).toBe("high");
    worker.complete(sooner, {});
    await fast;
    const unheardOf = post(world.key, CHAT, chat({ service_tier: "constructor" }));
    const ordinary = await worker.nextJob();
    expect(ordinary.priority).toBe("normal");
    worker.complete(ordinary, {});
    expect((await unheardOf).status).toBe(200);
    for (const [name, value, says] of [
      ["x-signalbox-priority", "urgent", "must be one of low, normal, high, critical"],
      ["x-signalbox-timeout", "0", "must be at least 0.001"],
      ["x-signalbox-queue", "601", "must be at most 600"],
      ["x-signalbox-user", "u".repeat(129), "must have at most 128 characters"],
    ] as const) {
      const bad = await post(world.key, CHAT, chat(), { [name]: value });
      const { param, message } = JSON.parse(await bad.whole).error;
      expect([bad.status, param, message]).toEqual([400, name, `${name}: ${says}`]);
    }
  });

  it.each(["", "!"])(
    "brings a body over 1 MiB to its worker by its address, and keeps it until its job has ended (%j)",
    async (odd) => {
      const world = await newWorld();
      const worker = await fakeWorker(world);
      const long = odd + "😀".repeat(1_000_000);
      const answering = post(world.key, CHAT, { model: "m1", messages: [{ role: "user", content: long }] });
      const job = await worker.nextJob();
      expect(job.input).toBeNull();
      expect(new TextEncoder().encode(job.prompt).length).toBeLessThanOrEqual(2048);
      const fetched = await world.get(job.input_url);
      expect(fetched.body.messages[0].content).toBe(long);
      const kept = () => heldBody(world.tenant, job.id);
      expect(await kept()).toContain(long);
      worker.complete(job, chatAnswer("read"));
      expect((await answering).status).toBe(200);
      await expect.poll(kept).toBeNull();
    },
  );
});
