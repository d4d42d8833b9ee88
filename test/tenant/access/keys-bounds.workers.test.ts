// Bounds on a tenant's keys.

import { describe, expect, it } from "vitest";
import { Client, newWorld, ROOT_KEY, request, type World } from "../../support/workerd/client.ts";
import { begin, numbered } from "../../support/workerd/embedding-batches.ts";
import { copyRow } from "../../support/workerd/rows.ts";

const addKeys = (world: World, count: number, change: string): Promise<void> => {
  const record = `json_set(record, '$.id', 'k' || i, '$.role', 'client', ${change})`;
  return copyRow(world, "keys", count, { id: "'k' || i", record });
};

const create = (world: World) => world.post("/api/keys", { name: "one more", role: "client" });

describe("a tenant", () => {
  it("has 10,000 keys and no more; the operator's is made all the same, and the keys that were revoked first make room", async () => {
    const world = await newWorld();
    await addKeys(world, 9_998, "'$.name', 'many'");
    const last = await create(world);
    expect(last.status).toBe(201);
    const refused = await create(world);
    expect([refused.status, refused.body.code]).toEqual([409, "too_many_keys"]);
    expect((await request(ROOT_KEY, "POST", `/admin/tenants/${world.tenant}/keys`, { name: "lost" })).status).toBe(201);
    expect((await world.delete(`/api/keys/${last.body.id}`)).status).toBe(204);
    // The revoked key makes room: with the operator's key there are as many again.
    expect((await create(world)).body.code).toBe("too_many_keys");
    expect((await world.delete("/api/keys/k1")).status).toBe(204);
    expect((await create(world)).status).toBe(201);
    expect((await create(world)).body.code).toBe("too_many_keys");
    const { keys } = await world.ok("GET", "/api/keys");
    expect(keys).toHaveLength(10_000);
    expect(keys.some(({ id }: { id: string }) => id === last.body.id)).toBe(false);
  });

  it("keeps a revoked key whose batch is under way: its limits hold for the batch", async () => {
    const world = await newWorld();
    const { id, key } = (await create(world)).body;
    const other = (await create(world)).body;
    await begin(new Client(key), numbered(1));
    for (const one of [id, other.id]) expect((await world.delete(`/api/keys/${one}`)).status).toBe(204);
    await addKeys(world, 9_997, "'$.name', 'many', '$.revokedAt', NULL");
    expect((await create(world)).status).toBe(201);
    const ids = (await world.ok("GET", "/api/keys")).keys.map((one: { id: string }) => one.id);
    expect([ids.length, ids.includes(id), ids.includes(other.id)]).toEqual([10_000, true, false]);
  });

  it("has 8 MiB of names and limits and no more; a key's limits get no longer then", async () => {
    const world = await newWorld();
    const { body } = await create(world);
    await addKeys(world, 900, "'$.name', printf('%.*c', 10000, 'x')");
    expect((await create(world)).body.code).toBe("too_many_keys");
    const patch = (limits: unknown) => world.patch(`/api/keys/${body.id}`, { limits });
    expect((await patch({ models: ["a", "b"] })).body.code).toBe("too_many_keys");
    expect((await patch(null)).status).toBe(200);
    const { keys } = await world.ok("GET", "/api/keys");
    expect(new Set(keys.map(({ id }: { id: string }) => id)).size).toBe(902);
    const created = keys.map(({ created_at }: { created_at: string }) => created_at);
    expect(created).toEqual(created.toSorted().reverse());
  });
});
