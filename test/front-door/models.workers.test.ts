// GET /v1/models: what a client may ask for.

import { describe, expect, it } from "vitest";
import { newWorld } from "../support/workerd/client.ts";
import { fakeWorker } from "../support/workerd/fake-worker.ts";

describe("the models", () => {
  it("are what workers name, else what their runtimes list, and the aliases", async () => {
    const world = await newWorld();
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
});
