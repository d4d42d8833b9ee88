// Bounds on a tenant's schedules.

import { describe, expect, it } from "vitest";
import { newWorld, type World } from "../../support/workerd/client.ts";
import { copyRow } from "../../support/workerd/rows.ts";
import { create } from "../../support/workerd/schedules.ts";

const addSchedules = (world: World, count: number, change: string): Promise<void> => {
  const record = `json_set(record, '$.name', 'k' || i, ${change})`;
  return copyRow(world, "schedules", count, { name: "'k' || i", record });
};

describe("a tenant", () => {
  it("has 5,000 schedules and no more, until one is deleted", async () => {
    const world = await newWorld();
    await create(world, { name: "first" });
    await addSchedules(world, 4_998, "'$.nextRunAt', NULL");
    expect((await create(world, { name: "last" })).status).toBe(201);
    const refused = await create(world, { name: "beyond" });
    expect([refused.status, refused.body.code]).toEqual([409, "too_many_schedules"]);
    expect((await world.delete("/api/schedules/k7")).status).toBe(204);
    expect((await create(world, { name: "beyond" })).status).toBe(201);
    expect((await create(world, { name: "another" })).status).toBe(409);
  });

  it("has 16 MiB of prompts and inputs and no more; a prompt gets no longer then, and all else can be changed", async () => {
    const world = await newWorld();
    await create(world, { name: "first" });
    await addSchedules(world, 200, "'$.prompt', printf('%.*c', 90000, 'x')");
    expect((await create(world, { name: "beyond" })).body.code).toBe("too_many_schedules");
    const edit = (patch: unknown) => world.put("/api/schedules/first", patch);
    expect((await edit({ prompt: "a longer prompt" })).body.code).toBe("too_many_schedules");
    expect((await edit({ prompt: "short", priority: "critical" })).status).toBe(200);
    expect((await edit({ status: "paused" })).status).toBe(200);
    const page = await world.ok("GET", "/api/schedules?limit=150&offset=3&preview=1");
    const names = page.schedules.map(({ name }: { name: string }) => name);
    expect([names.length, new Set(names).size, page.total, page.limit, page.offset]).toEqual([150, 150, 201, 150, 3]);
    const rest = await world.ok("GET", "/api/schedules?limit=150&offset=153&runs=1");
    expect(rest.schedules).toHaveLength(48);
    expect(new Set([...names, ...rest.schedules.map(({ name }: { name: string }) => name)]).size).toBe(198);

    for (let at = 1; at <= 17; at += 1) expect((await world.delete(`/api/schedules/k${at}`)).status).toBe(204);
    const long = "x".repeat(250_000);
    expect((await edit({ prompt: long })).status).toBe(200);
    expect((await edit({ prompt: `${long}x` })).body.code).toBe("too_many_schedules");
    expect((await world.delete("/api/schedules/k18")).status).toBe(204);
    expect((await edit({ prompt: `${long}x` })).status).toBe(200);
  });
});
