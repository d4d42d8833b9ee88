// Claims that wait: a worker counts as alive exactly while one of them does.

import { expect, test } from "vitest";
import { err, ok } from "../../domain/words/result.ts";
import { ClaimWaits } from "../../durable-objects/waits/claim-waits.ts";
import { Waiters } from "../../durable-objects/waits/waiters.ts";

const NOTHING = ok({ jobs: [], skipped: {}, model_tasks: [] });

const claimWaits = (sentAgainAt: () => number | null = () => null) => {
  const isClaiming = new Map<string, boolean>();
  const waits = new ClaimWaits(new Waiters(), (instance, is) => isClaiming.set(instance, is), sentAgainAt);
  return { waits, isClaiming };
};

test("a worker is alive while its claim waits, and no longer", async () => {
  const { waits, isClaiming } = claimWaits();
  const claimed = waits.claim("w", 20, async () => NOTHING);
  await Promise.resolve();
  await Promise.resolve();
  expect([...waits.instances()]).toEqual(["w"]);
  expect(isClaiming.get("w")).toBe(true);
  await claimed;
  expect([...waits.instances()]).toEqual([]);
  expect(isClaiming.get("w")).toBe(false);
});

test("a claim whose last look fails or is refused no longer keeps its worker alive", async () => {
  const { waits, isClaiming } = claimWaits();
  const failing = waits.claim("w", 1, async (isWaiting) => {
    if (isWaiting) return NOTHING;
    throw new Error("the commit failed");
  });
  await expect(failing).rejects.toThrow("the commit failed");
  expect([...waits.instances()]).toEqual([]);
  expect(isClaiming.get("w")).toBe(false);

  const refused = err({ code: "tenant_moved", to: "https://elsewhere.example" } as const);
  await waits.claim("w", 1, async (isWaiting) => (isWaiting ? NOTHING : refused));
  expect([...waits.instances()]).toEqual([]);
});

test("a claim that waits looks again when a lease, whose answer may be lost, is sent again", async () => {
  const sentAgainAt = Date.now() + 20;
  const { waits } = claimWaits(() => sentAgainAt);
  const looks: boolean[] = [];
  await waits.claim("w", 60_000, async (isWaiting) => {
    looks.push(isWaiting);
    return NOTHING;
  });
  expect(looks).toEqual([true, false]);
});

test("a claim waits on if that lease has been started meanwhile", async () => {
  const times = [() => Date.now() + 5, () => null];
  const waiters = new Waiters();
  const waits = new ClaimWaits(
    waiters,
    () => {},
    () => times.shift()?.() ?? null,
  );
  let looks = 0;
  const claimed = waits.claim("w", 60_000, async () => {
    looks += 1;
    return NOTHING;
  });
  await expect.poll(() => times.length).toBe(0);
  expect(looks).toBe(1);
  waiters.notify("claim w");
  await claimed;
  expect(looks).toBe(2);
});

test("a claim that fails leaves nothing that waits", async () => {
  const waiters = new Waiters();
  const waits = new ClaimWaits(
    waiters,
    () => {},
    () => null,
  );
  const failing = waits.claim("w", 60_000, async () => {
    throw new Error("the commit failed");
  });
  expect(waiters.isEmpty).toBe(false);
  await expect(failing).rejects.toThrow("the commit failed");
  expect(waiters.isEmpty).toBe(true);
});
