// Claims that wait: a worker counts as alive exactly while one of them does.

import { expect, test } from "vitest";
import { err, ok } from "../../domain/words/result.ts";
import { ClaimWaits } from "../../durable-objects/waits/claim-waits.ts";
import { Waiters } from "../../durable-objects/waits/waiters.ts";

const NOTHING = ok({ jobs: [], skipped: {}, model_tasks: [] });

const claimWaits = () => {
  const isClaiming = new Map<string, boolean>();
  return { waits: new ClaimWaits(new Waiters(), (instance, is) => isClaiming.set(instance, is)), isClaiming };
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
