// How many deliveries a tenant's database keeps: finished ones for 30 days or until many have followed, waiting ones up
// to a number for each endpoint.

import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { Delivery } from "../../domain/webhook.ts";
import { MAX_WEBHOOKS } from "../../durable-objects/operations/webhooks.ts";
import { DELIVERIES_KEPT, DELIVERIES_WAITING } from "../../durable-objects/steps/deliveries.ts";
import { openStore } from "../../durable-objects/store/open.ts";
import { alarm, type Body, newWorld, type World } from "../support/workerd/client.ts";

const delivery = (id: string, finishedAt: number | null): Delivery => ({
  id,
  webhookId: "w",
  event: "job.completed",
  at: 1,
  status: finishedAt === null ? "pending" : "delivered",
  attempts: 1,
  responseStatus: 200,
  error: null,
  nextAttemptAt: null,
  finishedAt,
  traceparent: null,
  body: "{}",
});

/** Those that are left after the alarm, written in this order. */
const keptOf = async (world: World, deliveries: readonly Delivery[]): Promise<string[]> => {
  await runInDurableObject(world.stub, (_tenant, { storage }) => {
    for (const one of deliveries) openStore(storage).deliveries.put(one);
    return storage.setAlarm(Date.now());
  });
  await alarm(world);
  return runInDurableObject(world.stub, (_tenant, { storage }) =>
    storage.sql
      .exec("SELECT id FROM deliveries ORDER BY id")
      .toArray()
      .map((row) => String(row.id)),
  );
};

test("a finished delivery is kept for thirty days", async () => {
  const old = Date.now() - 31 * 86_400_000;
  expect(await keptOf(await newWorld(), [delivery("a", old), delivery("b", Date.now()), delivery("c", null)])).toEqual([
    "b",
    "c",
  ]);
});

test("of very many only the last are kept, and all that are not finished", async () => {
  const { writes } = DELIVERIES_KEPT;
  DELIVERIES_KEPT.writes = 3;
  try {
    const now = Date.now();
    const many = ["a", "b", "c", "d", "e"].map((id, index) => delivery(id, id === "b" ? null : now + index));
    expect(await keptOf(await newWorld(), many)).toEqual(["b", "c", "d", "e"]);
  } finally {
    DELIVERIES_KEPT.writes = writes;
  }
});

test("for one endpoint only so many wait: for a newer one the oldest is dropped, which the list says, and can be sent again", async () => {
  const { most } = DELIVERIES_WAITING;
  DELIVERIES_WAITING.most = 2;
  try {
    const world = await newWorld();
    const url = "https://nobody.invalid/hook";
    const { id } = await world.ok("POST", "/api/webhooks", { url, events: ["job.cancelled"] });
    for (let count = 0; count < 3; count += 1) await world.ok("POST", "/api/jobs", { prompt: "x" });
    await world.ok("POST", "/api/jobs/bulk", { action: "cancel", filter: { status: "pending" } });
    const { deliveries } = await world.ok("GET", `/api/webhooks/${id}/deliveries`);
    expect(deliveries.map((one: Body) => one.status)).toEqual(["pending", "pending", "failed"]);
    expect(deliveries[2].error).toMatch(/dropped/);
    const again = await world.ok("POST", `/api/webhooks/deliveries/${deliveries[2].id}/redeliver`);
    expect(again).toMatchObject({ status: "pending", attempts: 0 });
  } finally {
    DELIVERIES_WAITING.most = most;
  }
});

test("a tenant has 50 webhooks and no more, until one is deleted", async () => {
  const world = await newWorld();
  const webhook = { url: "https://hooks.example.com/one", events: ["job.completed"] };
  const { id } = await world.ok("POST", "/api/webhooks", webhook);
  for (let count = 1; count < MAX_WEBHOOKS; count += 1) await world.ok("POST", "/api/webhooks", webhook);
  expect((await world.post("/api/webhooks", webhook)).status).toBe(400);
  expect((await world.delete(`/api/webhooks/${id}`)).status).toBe(204);
  expect((await world.post("/api/webhooks", webhook)).status).toBe(201);
});
