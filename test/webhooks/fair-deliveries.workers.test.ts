// An endpoint that never answers has a backlog that grows; the other endpoints' deliveries do not wait behind it.

import { expect, test, vi } from "vitest";
import type { Delivery, Webhook } from "../../domain/webhook.ts";
import { nextDeliveryAt, settleDelivery, takeDeliveries } from "../../durable-objects/steps/deliveries.ts";
import type { Turn } from "../../durable-objects/turn/turn.ts";
import { bareTurns } from "../support/workerd/bare-turns.ts";
import { delivery, webhook } from "./sample-deliveries.ts";

const NOW = 1_000_000;

const due = (webhookId: string, id: string, nextAttemptAt: number): Delivery =>
  delivery(id, { webhookId, nextAttemptAt });

/** The deliveries that are taken, by webhook, and what the turn sees then. */
const taken = <T>(
  name: string,
  webhooks: readonly Webhook[],
  deliveries: readonly Delivery[],
  look: (turn: Turn) => T,
) =>
  bareTurns(name, NOW, ({ store, turnAt, reload }) => {
    for (const one of webhooks) store.webhooks.put(one);
    for (const one of deliveries) store.deliveries.put(one);
    reload(NOW);
    const turn = turnAt(NOW);
    takeDeliveries(turn);
    return { taken: turn.effects.deliveries.map(({ id }) => id).sort(), ...look(turn) };
  });

test("an endpoint that fails has two tries under way at most, and the others have the rest at once", async () => {
  const backlog = Array.from({ length: 9 }, (_, index) => due("dead", `dead-${index}`, index));
  const seen = await taken(
    "fair",
    [webhook("dead", { failingSinceAt: 5 }), webhook("well")],
    [...backlog, due("well", "well-1", NOW)],
    (turn) => {
      const waitsMs = (nextDeliveryAt(turn) ?? 0) - NOW;
      settleDelivery(turn, "dead-0", { status: null, retryAfterMs: null, error: "no answer" });
      return { waitsMs, goesOnMs: (nextDeliveryAt(turn) ?? 0) - NOW };
    },
  );
  expect(seen.taken).toEqual(["dead-0", "dead-1", "well-1"]);
  expect(seen.waitsMs).toBe(5_000);
  expect(seen.goesOnMs).toBeLessThanOrEqual(0);
});

test("endpoints that answer have five together, each in the order of its own deliveries", async () => {
  const many = ["a", "b"].flatMap((id) => Array.from({ length: 4 }, (_, index) => due(id, `${id}-${index}`, index)));
  const seen = await taken("five", [webhook("a"), webhook("b")], many, (turn) => ({
    waitsMs: (nextDeliveryAt(turn) ?? 0) - NOW,
  }));
  expect(seen.taken).toHaveLength(5);
  for (const id of ["a", "b"]) {
    const own = seen.taken.filter((one) => one.startsWith(id));
    expect(own).toEqual(own.map((_, index) => `${id}-${index}`));
  }
  expect(seen.waitsMs).toBe(5_000);
});

test("an endpoint that fails has its place beside one that always has something to send", async () => {
  const busy = Array.from({ length: 9 }, (_, index) => due("busy", `busy-${index}`, index));
  const failing = webhook("fails", { failingSinceAt: 5 });
  const seen = await taken("busy", [webhook("busy"), webhook("idle"), failing], busy, (turn) => {
    turn.store.deliveries.put(due("fails", "fails-1", NOW));
    takeDeliveries(turn);
    return { last: turn.effects.deliveries.at(-1)?.id };
  });
  expect(seen.last).toBe("fails-1");
});

test("an endpoint that stops answering leaves a place for the others, whose deliveries come later", async () => {
  const backlog = Array.from({ length: 9 }, (_, index) => due("hangs", `hangs-${index}`, index));
  const seen = await taken("hangs", [webhook("hangs"), webhook("well")], backlog, (turn) => {
    const first = turn.effects.deliveries.length;
    turn.store.deliveries.put(due("well", "well-1", NOW));
    const waitsMs = (nextDeliveryAt(turn) ?? 0) - NOW;
    takeDeliveries(turn);
    return { waitsMs, more: turn.effects.deliveries.slice(first).map(({ id }) => id) };
  });
  expect(seen).toEqual({ taken: ["hangs-0", "hangs-1", "hangs-2", "hangs-3"], waitsMs: 0, more: ["well-1"] });
});

test("an endpoint that fails by not answering leaves a place for one that failed and answers", async () => {
  const seen = await bareTurns("once", NOW, ({ store, turnAt, reload }) => {
    for (const id of ["hangs", "once"]) store.webhooks.put(webhook(id, { failingSinceAt: 5 }));
    store.webhooks.put(webhook("well"));
    for (let nth = 0; nth < 9; nth += 1) store.deliveries.put(due("hangs", `hangs-${nth}`, nth));
    reload(NOW);
    const turn = turnAt(NOW);
    turn.memory.deliveries.slow.add("hangs");
    takeDeliveries(turn);
    store.deliveries.put(due("once", "once-1", NOW));
    takeDeliveries(turn);
    return turn.effects.deliveries.map(({ id }) => id);
  });
  expect(seen).toEqual(["hangs-0", "once-1"]);
});

test("an endpoint that takes long to answer leaves places for quicker ones, and has all where there are none", async () => {
  const backlog = (id: string) => Array.from({ length: 9 }, (_, index) => due(id, `${id}-${index}`, index));
  const OK = { status: 204, retryAfterMs: null, error: null };
  const placesOfSlow = (name: string, others: readonly Webhook[]) =>
    bareTurns(name, NOW, ({ store, turnAt, reload }) => {
      for (const one of [webhook("slow"), ...others]) store.webhooks.put(one);
      for (const one of backlog("slow")) store.deliveries.put(one);
      reload(NOW);
      takeDeliveries(turnAt(NOW));
      const late = turnAt(NOW + 8_000);
      for (const id of [...late.memory.deliveries.underWay.keys()]) settleDelivery(late, id, OK);
      takeDeliveries(late);
      const slow = late.effects.deliveries.length;
      for (const one of others) store.deliveries.put(due(one.id, `${one.id}-1`, NOW));
      const then = turnAt(NOW + 8_001);
      takeDeliveries(then);
      const quick = then.effects.deliveries.length;
      for (const id of [...then.memory.deliveries.underWay.keys()]) settleDelivery(then, id, OK);
      return { slow, quick, isSlow: then.memory.deliveries.slow.has("slow") };
    });
  expect(await placesOfSlow("slow beside quick", [webhook("quick")])).toEqual({ slow: 3, quick: 1, isSlow: false });
  expect(await placesOfSlow("slow alone", [])).toEqual({ slow: 4, quick: 0, isSlow: false });
});

test("of fifty endpoints with a backlog, only the deliveries that are taken are read", async () => {
  const ids = Array.from({ length: 50 }, (_, index) => `w${index}`);
  const seen = await bareTurns("many", NOW, ({ store, turnAt, reload }) => {
    for (const id of ids) store.webhooks.put(webhook(id));
    for (const id of ids) for (let nth = 0; nth < 5; nth += 1) store.deliveries.put(due(id, `${id}-${nth}`, NOW));
    reload(NOW);
    const [reading, looking] = [vi.spyOn(store.deliveries, "firstDue"), vi.spyOn(store.deliveries, "nextDueAt")];
    const turn = turnAt(NOW);
    const dueAt = nextDeliveryAt(turn);
    takeDeliveries(turn);
    const { length: taken } = turn.effects.deliveries;
    return { dueAt, looks: looking.mock.calls.length, taken, read: reading.mock.calls.length };
  });
  expect(seen).toEqual({ dueAt: NOW, looks: 1, taken: 5, read: 5 });
});
