// How many deliveries a tenant's database keeps: finished ones for 30 days or until many have followed, waiting ones up
// to a number for each endpoint.

import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { AttemptOutcome, Delivery } from "../../domain/webhook.ts";
import { MAX_WEBHOOKS } from "../../durable-objects/operations/webhooks.ts";
import {
  DELIVERIES_KEPT,
  DELIVERIES_WAITING,
  giveUpDeliveries,
  nextDeliveryAt,
  nextGiveUpAt,
  settleDelivery,
  takeDeliveries,
  write,
} from "../../durable-objects/steps/deliveries.ts";
import { openStore } from "../../durable-objects/store/open.ts";
import type { Turn } from "../../durable-objects/turn/turn.ts";
import { bareTurns } from "../support/workerd/bare-turns.ts";
import { alarm, type Body, newWorld, type World } from "../support/workerd/client.ts";
import { delivery, webhook } from "./sample-deliveries.ts";

const tried = (id: string, finishedAt: number | null): Delivery =>
  delivery(id, {
    status: finishedAt === null ? "pending" : "delivered",
    attempts: 1,
    responseStatus: 200,
    finishedAt,
  });

/** Those that are left after the alarm, written in this order. */
const keptOf = async (world: World, deliveries: readonly Delivery[]): Promise<string[]> => {
  await runInDurableObject(world.stub, (_tenant, { storage }) => {
    const store = openStore(storage);
    for (const one of deliveries) store.deliveries.put(one);
    for (const id of new Set(deliveries.map(({ webhookId }) => webhookId))) store.webhooks.put(webhook(id));
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
  expect(await keptOf(await newWorld(), [tried("a", old), tried("b", Date.now()), tried("c", null)])).toEqual([
    "b",
    "c",
  ]);
});

test("of very many only the last are kept, and all that are not finished", async () => {
  const { writes } = DELIVERIES_KEPT;
  DELIVERIES_KEPT.writes = 3;
  try {
    const now = Date.now();
    const many = ["a", "b", "c", "d", "e"].map((id, index) => tried(id, id === "b" ? null : now + index));
    expect(await keptOf(await newWorld(), many)).toEqual(["b", "c", "d", "e"]);
  } finally {
    DELIVERIES_KEPT.writes = writes;
  }
});

test("those of a deleted webhook go some at a time, and none can be sent again", async () => {
  const world = await newWorld();
  const hook = { url: "https://nobody.invalid/hook", events: ["job.cancelled"] };
  const [gone, stays] = [await world.ok("POST", "/api/webhooks", hook), await world.ok("POST", "/api/webhooks", hook)];
  const count = 1_100;
  await runInDurableObject(world.stub, (_tenant, { storage }) => {
    const { deliveries } = openStore(storage);
    for (let at = 0; at < count; at += 1) deliveries.put({ ...tried(`a${at}`, Date.now()), webhookId: gone.id });
    deliveries.put({ ...tried("b", Date.now()), webhookId: stays.id });
  });
  await world.ok("DELETE", `/api/webhooks/${gone.id}`);
  expect((await world.post("/api/webhooks/deliveries/a1099/redeliver", {})).status).toBe(404);
  const left = () =>
    runInDurableObject(world.stub, (_tenant, { storage }) =>
      Number(storage.sql.exec("SELECT COUNT(*) AS left FROM deliveries").one().left),
    );
  expect(await left()).toBeGreaterThan(1);
  for (let at = 0; at < count / 250; at += 1) await alarm(world);
  expect(await left()).toBe(1);
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

const NOW = 1_000_000;
const HOOK = webhook("w");
const waiting = (id: string): Delivery => delivery(id, { nextAttemptAt: NOW });
const answered = (status: number): AttemptOutcome => ({ status, retryAfterMs: null, error: null });

/** What a turn of a tenant with one webhook and these deliveries makes of them. */
const inTurn = <T>(deliveries: readonly Delivery[], look: (turn: Turn) => T) =>
  bareTurns(`kept ${crypto.randomUUID()}`, NOW, ({ store, turnAt, reload }) => {
    store.webhooks.put(HOOK);
    for (const one of deliveries) store.deliveries.put(one);
    reload(NOW);
    return look(turnAt(NOW));
  });

test("a webhook that is disabled has nothing waiting: enabled again, all of its room is there", async () => {
  const { counted, inStore } = await inTurn([waiting("a"), waiting("b"), waiting("c")], (turn) => {
    takeDeliveries(turn);
    settleDelivery(turn, "a", answered(410));
    return {
      counted: turn.memory.deliveries.pending.get("w") ?? 0,
      inStore: turn.store.deliveries.count("w", "pending"),
    };
  });
  expect([counted, inStore]).toEqual([0, 0]);
});

test("what waits for an endpoint that answers 410 is given up some at a time, and none of it is tried meanwhile", async () => {
  const many = Array.from({ length: 600 }, (_, at) => waiting(`a${String(at).padStart(3, "0")}`));
  const seen = await inTurn(many, (turn) => {
    const left = () => [
      turn.memory.deliveries.pending.get("w"),
      turn.store.deliveries.count("w", "pending"),
      nextGiveUpAt(turn),
    ];
    takeDeliveries(turn);
    settleDelivery(turn, "a000", answered(410));
    const atFirst = left();
    const sent = turn.effects.deliveries.length;
    takeDeliveries(turn);
    const sentLater = turn.effects.deliveries.length - sent;
    giveUpDeliveries(turn);
    giveUpDeliveries(turn);
    return { atFirst, sentLater, atLast: left(), error: turn.store.deliveries.find("a599")?.error };
  });
  const error = "the endpoint answered 410 Gone";
  expect(seen).toEqual({ atFirst: [349, 349, NOW], sentLater: 0, atLast: [0, 0, null], error });
});

test("a delivery that is under way is not dropped for a newer one, and its outcome counts once", async () => {
  const { most } = DELIVERIES_WAITING;
  DELIVERIES_WAITING.most = 2;
  try {
    const seen = await inTurn([waiting("a"), { ...waiting("b"), nextAttemptAt: NOW + 1 }], (turn) => {
      takeDeliveries(turn);
      const taken = turn.effects.deliveries.map(({ id }) => id);
      write(turn, HOOK, "job.completed", { id: "j" });
      settleDelivery(turn, "a", answered(200));
      settleDelivery(turn, "b", answered(200));
      const statusOf = (id: string) => turn.store.deliveries.find(id)?.status;
      const counted = turn.memory.deliveries.pending.get("w");
      return {
        taken,
        a: statusOf("a"),
        b: statusOf("b"),
        counted,
        inStore: turn.store.deliveries.count("w", "pending"),
      };
    });
    expect(seen).toEqual({ taken: ["a"], a: "delivered", b: "failed", counted: 1, inStore: 1 });
  } finally {
    DELIVERIES_WAITING.most = most;
  }
});

test("a delivery whose try died with its object is due when the next one wakes; one that is tried now is not", async () => {
  const seen = await inTurn([waiting("a"), waiting("b")], (turn) => {
    takeDeliveries(turn);
    const before = turn.effects.deliveries.map(({ id }) => id);
    const wakesForTried = (nextDeliveryAt(turn) ?? 0) <= NOW;
    turn.memory.deliveries.underWay.delete("b");
    const wakesForDead = (nextDeliveryAt(turn) ?? 0) <= NOW;
    takeDeliveries(turn);
    return {
      before,
      wakesForTried,
      wakesForDead,
      after: turn.effects.deliveries.slice(before.length).map(({ id }) => id),
    };
  });
  expect(seen).toEqual({ before: ["a", "b"], wakesForTried: false, wakesForDead: true, after: ["b"] });
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
