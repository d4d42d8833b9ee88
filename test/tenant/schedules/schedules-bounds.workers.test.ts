// Bounds on a tenant's schedules. Rows are written into the table, because thousands of requests take long.

import { describe, expect, it } from "vitest";
import { inStorage, newWorld, type World } from "../../support/workerd/client.ts";
import { create } from "../../support/workerd/schedules.ts";

const addRows = (world: World, count: number, change: string) =>
  inStorage(world, ({ sql }) => {
    const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)";
    const record = `json_set((SELECT record FROM schedules LIMIT 1), '$.name', 'k' || i, ${change})`;
    sql.exec(
      `INSERT INTO schedules (name, record) SELECT 'k' || i, ${record} FROM (${numbers} SELECT i FROM n)`,
      count,
    );
  });

describe("a tenant", () => {
  it("has 5,000 schedules and no more, until one is deleted", async () => {
    const world = await newWorld();
    await create(world, { name: "first" });
    await addRows(world, 4_998, "'$.nextRunAt', NULL");
    expect((await create(world, { name: "last" })).status).toBe(201);
    const refused = await create(world, { name: "beyond" });
    expect([refused.status, refused.body.code]).toEqual([409, "too_many_schedules"]);
    expect((await world.delete("/api/schedules/k7")).status).toBe(204);
    expect((await create(world, { name: "beyond" })).status).toBe(201);
  });

  it("has 16 MiB of prompts and inputs and no more; a prompt gets no longer then, and all else can be changed", async () => {
    const world = await newWorld();
    await create(world, { name: "first" });
    await addRows(world, 200, "'$.prompt', printf('%.*c', 90000, 'x')");
    expect((await create(world, { name: "beyond" })).body.code).toBe("too_many_schedules");
    const edit = (patch: unknown) => world.put("/api/schedules/first", patch);
    expect((await edit({ prompt: "a longer prompt" })).body.code).toBe("too_many_schedules");
    expect((await edit({ prompt: "short", priority: "critical" })).status).toBe(200);
    expect((await edit({ status: "paused" })).status).toBe(200);
  });
});
