// GET /v1/models: what a client may ask for.

import { describe, expect, it } from "vitest";
import { newWorld, silence } from "../support/workerd/client.ts";
import { APIS, CHAT, chat, chatAnswer, fakeWorker, post } from "../support/workerd/fake-worker.ts";

describe("the models", () => {
  it("are what workers name, else what their runtimes list, and the aliases", async () => {
    const world = await newWorld();
    const { error } = (await world.get("/v1/models/none")).body;
    expect(error.message).toBe('no worker offers model "none"; none offers any: start a worker that has it');
    await world.ok("PUT", "/config", { front_door: { aliases: { "claude-local": { model: "m1" } } } });
    await fakeWorker(world);
    await fakeWorker(world, { instance: "w2", models: null, runtime_models: ["org/r1"] });
    const offer = { runtime_models: ["org/r1"], apis: expect.arrayContaining(["chat/completions", "messages"]) };
    expect(await world.ok("GET", "/api/workers/w2")).toMatchObject(offer);
    const { body } = await world.get("/v1/models?limit=1000&limit=9");
    expect(body).toMatchObject({ object: "list", has_more: false, first_id: "claude-local" });
    expect(body.data.map(({ id }: { id: string }) => id).sort()).toEqual(["claude-local", "m1", "org/r1"]);
    const epoch = { created: 0, created_at: "1970-01-01T00:00:00.000Z" };
    expect((await world.get("/v1/models/claude-local")).body).toMatchObject({ owned_by: "alias", ...epoch });
    expect((await world.get("/v1/models/m1")).body).toMatchObject({ id: "m1", object: "model", owned_by: "local" });
    expect((await world.get("/v1/models/org/r1")).body).toMatchObject({ id: "org/r1" });
    expect((await world.get("/v1/models/none")).body.error.code).toBe("model_not_found");
  });

  it("are read by their names, however many slashes those have, written out or escaped", async () => {
    const world = await newWorld();
    const names = ["hf.co/org/r1:Q4", "accounts/org/models/r2"];
    await fakeWorker(world, { models: names });
    for (const name of names) {
      for (const written of [name, encodeURIComponent(name), name.replace("/", "%2F")])
        expect((await world.get(`/v1/models/${written}`)).body, written).toMatchObject({ id: name });
    }
    expect((await world.get("/v1/models/accounts/org/models/none")).body.error.code).toBe("model_not_found");
  });

  it("are, for a key that is held to some, those that it may use", async () => {
    const world = await newWorld();
    const aliases = { "claude-local": { model: "m1" }, other: { model: "m2" } };
    await world.ok("PUT", "/config", { front_door: { aliases } });
    await fakeWorker(world, { models: ["m1", "m2"] });
    const client = await world.withKey("client");
    await world.ok("PATCH", `/api/keys/${client.keyId}`, { limits: { models: ["claude-*", "m2"] } });
    const { body } = await client.get("/v1/models");
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual(["claude-local", "m2"]);
    expect((await client.get("/v1/models/m1")).status).toBe(404);
  });

  it("are, for a key with thousands of stars, those that can be compared with them in a short time", async () => {
    const world = await newWorld();
    await fakeWorker(world, { models: Array.from({ length: 100 }, (_, at) => `${"a".repeat(100)}-${at}`) });
    const client = await world.withKey("client");
    const slow = Array.from({ length: 199 }, (_, at) => `${"*a".repeat(60)}b${at}`);
    await world.ok("PATCH", `/api/keys/${client.keyId}`, { limits: { models: [...slow, "a*"] } });
    const { body } = await client.get("/v1/models");
    expect([body.data.length > 10, body.data.length < 100]).toEqual([true, true]);
  });
});

describe("a request for a model", () => {
  const asking = { model: "m2", messages: [{ role: "user", content: "hi" }] };
  const listing = (instance: string, ...models: string[]) => ({ instance, models: null, runtime_models: models });
  const MISSING = { code: "not_found_error", message: "model 'm2' not found", status: 404, retryable: false };

  it("is answered where a name has characters that HTTP's headers cannot carry", async () => {
    const world = await newWorld();
    const name = "größe-模型 100%";
    const worker = await fakeWorker(world, { provider: "模", models: [name] });
    const answer = world.post("/v1/chat/completions", { ...asking, model: name });
    worker.complete(await worker.nextJob(), chatAnswer("hi"));
    const { status, headers } = await answer;
    const named = ["provider", "model"].map((what) => headers.get(`x-signalbox-${what}`));
    expect([status, named]).toEqual([200, ["%E6%A8%A1", "gr%C3%B6%C3%9Fe-%E6%A8%A1%E5%9E%8B 100%25"]]);
  });

  it("goes only to a worker whose runtime lists it, and an ordinary job, too", async () => {
    const world = await newWorld();
    await fakeWorker(world, listing("other", "m1"));
    const job = await world.ok("POST", "/api/jobs", { prompt: "x", model: "m2" });
    expect((await world.ok("GET", `/api/jobs/${job.id}`)).waiting_reason).toBe('no matching worker serves model "m2"');
    const { workers } = await world.ok("GET", `/dispatch/explain?job_id=${job.id}`);
    expect(workers[0].reasons).toEqual(['its runtime does not list model "m2"']);
    const refused = await world.post("/dispatch", { prompt: "x", model: "m2" });
    expect([refused.status, refused.body.workers[0].reasons]).toEqual([503, workers[0].reasons]);
    expect((await world.post("/v1/chat/completions", asking)).status).toBe(404);
    const right = await fakeWorker(world, listing("right", "/models/m2.gguf"));
    expect((await right.nextJob()).id).toBe(job.id);
    const answer = world.post("/v1/chat/completions", asking);
    const asked = await right.nextJob();
    expect([asked.model, asked.input.model]).toEqual(["/models/m2.gguf", "/models/m2.gguf"]);
    right.complete(asked, { id: "a" });
    expect((await answer).body).toEqual({ id: "a" });
  });

  it("reaches a worker that takes any, whatever a worker that is gone has offered", async () => {
    const world = await newWorld();
    for (const models of [["m1"], ["echo"]]) {
      const gone = { instance: `gone-${models}`, provider: "local", models, apis: APIS };
      await world.ok("POST", "/presence", gone);
      await silence(world, `gone-${models}`);
    }
    const live = await fakeWorker(world, { instance: "live", models: null });
    const answering = post(world.key, CHAT, { ...asking, model: "echo" });
    live.complete(await live.nextJob(), chatAnswer("hello"));
    expect((await answering).status).toBe(200);
  });

  it("goes on to another worker, at no cost, where the runtime answers that it does not have it", async () => {
    const world = await newWorld();
    const wrong = await fakeWorker(world, listing("wrong"));
    const headers = { "X-Signalbox-Session": "s" };
    const answer = world.post("/v1/chat/completions", asking, { headers });
    const first = await wrong.nextJob();
    const right = await fakeWorker(world, listing("right", "m2"));
    wrong.fail(first, MISSING);
    const second = await right.nextJob();
    expect([second.id, second.attempts]).toEqual([first.id, 0]);
    right.complete(second, { id: "a" });
    expect((await answer).status).toBe(200);
    const { attempts } = await world.ok("GET", `/api/jobs/${first.id}/attempts`);
    expect(attempts[0]).toMatchObject({ worker: "wrong", outcome: "released", error: { code: "not_found_error" } });
    // The one that lacks the model is freer, and yet is left out.
    const next = world.post("/v1/chat/completions", asking, { headers });
    const third = await right.nextJob();
    expect(third.id).not.toBe(first.id);
    const { workers } = await world.ok("GET", "/dispatch/explain?model=m2");
    expect(workers[1].reasons[0]).toMatch(/^its runtime answered that it does not have model "m2"/);
    right.complete(third, { id: "b" });
    expect((await next).headers.get("x-signalbox-session")).toBe("hit");
  });

  it("goes to the next model of its list where nobody else has it, also the first time", async () => {
    const world = await newWorld();
    const own = await fakeWorker(world, listing("own"));
    const other = await fakeWorker(world, listing("other", "m2", "m3"));
    await world.ok("PUT", "/config", { front_door: { aliases: { fast: [{ model: "m2" }, { model: "m3" }] } } });
    const answer = post(world.key, CHAT, chat({ model: "fast" }));
    const first = await Promise.race([own.nextJob(), other.nextJob()]);
    const holders = first.assigned_worker === "own" ? [own, other] : [other, own];
    holders[0]?.fail(first, MISSING);
    // Another worker of the same model comes before another model.
    const second = await holders[1]?.nextJob();
    expect([second?.id, second?.model]).toEqual([first.id, "m2"]);
    holders[1]?.fail(second ?? {}, MISSING);
    const third = await other.nextJob();
    expect([third.id, third.model, third.attempts]).toEqual([first.id, "m3", 0]);
    other.complete(third, chatAnswer("hi"));
    const { status, headers } = await answer;
    expect([status, headers.get("x-signalbox-model"), headers.get("x-signalbox-fallback")]).toEqual([
      200,
      "m3",
      "true",
    ]);
    expect((await world.ok("GET", `/api/jobs/${first.id}`)).tried).toMatchObject([{ model: "m2", code: MISSING.code }]);
  });

  it("goes to the next model of its list that has room once it has waited as long as it may for the one before", async () => {
    const world = await newWorld();
    const own = await fakeWorker(world, { instance: "own", concurrency: 1, models: ["m1"] });
    const hosted = await fakeWorker(world, { instance: "hosted", concurrency: 2, models: ["m2"] });
    await world.ok("PUT", "/config", { front_door: { aliases: { fast: [{ model: "m1" }, { model: "m2" }] } } });
    const ask = (seconds: string) => post(world.key, CHAT, chat({ model: "fast" }), { "x-signalbox-queue": seconds });
    void ask("600");
    await own.nextJob();
    for (const seconds of ["0", "0.3"]) {
      const answering = ask(seconds);
      hosted.complete(await hosted.nextJob(), chatAnswer("hi"));
      const { status, headers } = await answering;
      const named = ["model", "fallback"].map((what) => headers.get(`x-signalbox-${what}`));
      expect([seconds, status, named]).toEqual([seconds, 200, ["m2", "true"]]);
    }
    void ask("0");
    void ask("0");
    await hosted.nextJob();
    await hosted.nextJob();
    for (const seconds of ["0", "0.3"]) {
      const { status, whole } = await ask(seconds);
      expect([seconds, status, JSON.parse(await whole).error.code]).toEqual([seconds, 504, "queue_timeout"]);
    }
  });
});
