// Which models the lines of a batch run on, by the names that they ask for and the key that sent them.

import { expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { batchWorker } from "../support/workerd/batch-worker.ts";
import { type Body, Client, newWorld } from "../support/workerd/client.ts";
import { begin, line, numbered, own, upload, whenIs } from "../support/workerd/embedding-batches.ts";

it("says which model nobody has, and runs the lines of the others", async () => {
  const world = await newWorld();
  const worker = await batchWorker(world);
  const { id } = await begin(world, [...numbered(300, "a-nobody"), ...numbered(300)]);
  await eventually(async () => expect((await own(world, id)).completed).toBe(300));
  const batch = await own(world, id);
  expect(batch).toMatchObject({ status: "in_progress", waiting: 300, running: 0 });
  expect(batch.waiting_reason).toContain('no matching worker serves model "a-nobody"');
  await worker.stop();
});

it("gives the lines of an alias to the first model of its list that a worker has", async () => {
  const world = await newWorld();
  await world.ok("PUT", "/config", { front_door: { aliases: { either: [{ model: "nobodys" }, { model: "m1" }] } } });
  const worker = await batchWorker(world);
  const { id } = await begin(world, numbered(3, "either"));
  await whenIs(world, id, "completed");
  expect(worker.jobs.map(({ model }) => model)).toEqual(["m1", "m1", "m1"]);
  await worker.stop();
});

it("gives a line of an alias to the next model of its list where the first cannot answer", async () => {
  const world = await newWorld();
  const either = ["m0", "m1", "m2"].map((model) => ({ model }));
  await world.ok("PUT", "/config", { front_door: { aliases: { either } } });
  const error = { code: "rate_limited", message: "slow down", status: 429, retryable: true };
  const worker = await batchWorker(world, ({ model }) => (model === "m1" ? { error } : { result: { model } }), {
    models: ["m1", "m2"],
  });
  const { id } = await begin(world, numbered(2, "either"));
  await whenIs(world, id, "completed");
  expect(worker.jobs.map(({ model }) => model).sort()).toEqual(["m1", "m1", "m2", "m2"]);
  expect(await own(world, id)).toMatchObject({ completed: 2, failed: 0 });
  const { jobs } = (await world.get(`/api/jobs?status=completed`)).body;
  expect(jobs[0]).toMatchObject({
    requested_model: "either",
    model: "m2",
    tried: [{ model: "m1", code: "rate_limited" }],
    attempts: 1,
  });
  await worker.stop();
});

it("gives no line another model than its key may use, however its name is written", async () => {
  const world = await newWorld();
  const worker = await batchWorker(world, undefined, { models: ["m1", "m2"] });
  const limits = { models: ["m1*"] };
  const client = new Client((await world.ok("POST", "/api/keys", { name: "c", role: "client", limits })).key);
  const { id } = await begin(client, [...numbered(2), ...numbered(2, "m1/m2")]);
  await eventually(async () => expect(await own(client, id)).toMatchObject({ completed: 2, waiting: 2 }));
  await eventually(async () =>
    expect((await own(client, id)).waiting_reason ?? "").toContain('no matching worker serves model "m1/m2"'),
  );
  expect(worker.jobs.map(({ model }) => model)).toEqual(["m1", "m1"]);
  await worker.stop();
});

it("keeps lines from hosted providers by a field, by the create's header and by the key's limits", async () => {
  const world = await newWorld();
  const worker = await batchWorker(world);
  const limits = { edge: false };
  const client = new Client((await world.ok("POST", "/api/keys", { name: "c", role: "client", limits })).key);
  const edgesOf = async (by: Client, headers: Record<string, string>, lines: string[]): Promise<unknown> => {
    const asked = { input_file_id: await upload(by, lines), endpoint: "/v1/embeddings", completion_window: "24h" };
    const { status, body } = await by.post("/v1/batches", asked, { headers });
    if (status !== 200) return status;
    await whenIs(by, body.id, "completed");
    const { jobs } = await world.ok("GET", `/api/jobs?batch=${body.id}`);
    return jobs.map(({ edge }: Body) => edge).sort();
  };
  const said = line("a").replace('"input"', '"edge":false,"input"');
  expect(await edgesOf(world, {}, [said, line("b")])).toEqual([false, true]);
  expect(await edgesOf(world, { "x-signalbox-edge": "off" }, [line("a")])).toEqual([false]);
  expect(await edgesOf(world, { "x-signalbox-edge": "maybe" }, [line("a")])).toBe(400);
  expect(await edgesOf(client, {}, [line("a")])).toEqual([false]);
  // The runtime would refuse it.
  expect(worker.jobs.map(({ input }) => Object.keys(input as Body))).toEqual(Array(4).fill(["model", "input"]));
  await worker.stop();
});

it("refuses a list of models in a line, of which only the first would be tried", async () => {
  const world = await newWorld();
  const { id } = await begin(world, [line("a").replace('"input"', '"models":["m2"],"input"')]);
  await whenIs(world, id, "failed");
  const { data } = (await world.ok("GET", `/v1/batches/${id}`)).errors;
  expect(data).toMatchObject([{ code: "unsupported_parameter", param: "body.models", line: 1 }]);
});

it("lets the lines wait for a provider that limits its rate, whatever is configured, until each is answered", async () => {
  const world = await newWorld();
  const told = new Map<string, number>();
  const error = { code: "rate_limited", message: "slow down", status: 429, retryable: true };
  const worker = await batchWorker(world, ({ id, model }) => {
    told.set(id, (told.get(id) ?? 0) + 1);
    return (told.get(id) ?? 0) <= 2 ? { error } : { result: { model } };
  });
  const { id } = await begin(world, numbered(3, "m1"));
  await eventually(async () => expect((await own(world, id)).waiting_reason).toMatch(/^provider \S+ backs off until/));
  // Others go on: they fail at once, as without a batch.
  const other = await world.ok("POST", "/api/jobs", { prompt: "now", model: "m1" });
  await eventually(async () => expect((await world.ok("GET", `/api/jobs/${other.id}`)).status).toBe("failed"));
  await whenIs(world, id, "completed");
  expect(await own(world, id)).toMatchObject({ completed: 3, failed: 0 });
  expect([...told.values()]).toEqual([3, 3, 3, 1]);
  await worker.stop();
});

it("is seen by its client key alone, whose models and money hold for its lines", async () => {
  const world = await newWorld();
  const made = await world.ok("POST", "/api/keys", {
    name: "c",
    role: "client",
    limits: { models: ["m1"], day_usd: 1, requests_per_minute: 1, concurrent: 1 },
  });
  const client = new Client(made.key);
  const beside = line("b", "m1").replace('"model"', '"fallbacks":[{"model":"m2"}],"model"');
  const wrong = await begin(client, [line("a", "m2"), beside]);
  expect((await whenIs(client, wrong.id, "failed")).errors).toEqual([{ code: "model_not_allowed", count: 2 }]);
  const many = JSON.stringify(Array.from({ length: 101 }, (_, at) => `m${at}`));
  const named = line("b", "m1").replace('"model"', `"fallbacks":${many},"model"`);
  const { id: over } = await begin(client, [named]);
  expect((await whenIs(client, over, "failed")).errors).toEqual([{ code: "unsupported_parameter", count: 1 }]);
  await world.ok("PUT", "/config", { providers: { paid: { pricing: { "*": { per_request: 0.5 } } } } });
  const worker = await batchWorker(world, undefined, { provider: "paid", concurrency: 2 });
  const { id } = await begin(client, numbered(20));
  await eventually(async () => {
    const batch = await own(client, id);
    expect(batch.waiting_reason, JSON.stringify(batch)).toContain("this key has spent 1 of the 1 USD");
  });
  // It was quick until it was held: its end is not to be told from that.
  expect(await own(client, id)).toMatchObject({ completed: 2, cost_usd: 1, running: 0, eta: null });
  const stranger = await world.withKey("client");
  expect((await stranger.get(`/api/batches/${id}`)).status).toBe(404);
  expect((await stranger.get("/v1/batches")).body.data).toEqual([]);
  expect((await (await world.withKey("worker")).get(`/api/batches/${id}`)).status).toBe(403);
  expect((await (await world.withKey("viewer")).get("/api/batches")).body.total).toBe(3);
  await world.ok("PATCH", `/api/keys/${made.id}`, { limits: { day_usd: 20 } });
  await whenIs(client, id, "completed");
  await worker.stop();
});
