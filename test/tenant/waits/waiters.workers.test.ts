// Waits in the object: workerd lets an object have 10,000 timers at a time, and a tenant may have more requests that wait.

import { expect, it } from "vitest";
import { Waiters } from "../../../durable-objects/waits/waiters.ts";

const MORE_THAN_TIMERS = 16_384;

const inMs = (ms: number): (() => number) => {
  const at = Date.now() + ms;
  return () => at;
};

it("are as many as a tenant's requests that wait may be, and take no timer from its turns", async () => {
  const waiters = new Waiters();
  const waiting = Array.from({ length: MORE_THAN_TIMERS }, (_, index) => waiters.open(`watch ${index}`));
  const woken = waiting.map(({ woken }) => woken(inMs(60_000)));
  await new Promise((resolve) => setTimeout(resolve, 0));
  for (const { cancel } of waiting) cancel();
  await Promise.all(woken);
  expect(waiters.isEmpty).toBe(true);
});

it("end when their caller leaves, and no other's does", async () => {
  const waiters = new Waiters();
  const [one, other] = ["one", "other"].map((caller) => waiters.open("job a", caller));
  const waits = waiters.until("job a", 60_000, () => false, "third");
  waiters.leave("one");
  await one?.woken(inMs(60_000));
  expect([one?.isLeft(), other?.isLeft()]).toEqual([true, false]);
  waiters.leave("third");
  await waits;
  other?.cancel();
  expect([waiters.isEmpty, other?.isLeft()]).toEqual([true, false]);
});
