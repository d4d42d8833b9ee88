// Short runs of `npm run chaos`, as part of every test run.

import { expect, test } from "vitest";
import { runBatchChaos } from "./batch-run.ts";
import { runChaos } from "./run.ts";

const KILLS = 5;

test("a server that is killed under load, with cut connections and stopped workers, breaks no promise", async () => {
  const { violations, evidence } = await runChaos({ kills: KILLS, seed: 1 });
  expect(violations).toEqual([]);
  const statuses = new Set([...evidence.jobs.values()].map(({ read }) => read?.status));
  expect(statuses).toContain("completed");
  expect(evidence.history.unansweredCount).toBeGreaterThan(0);
}, 120_000);

test("a batch whose server is killed while it runs has each of its lines once in its files", async () => {
  const { violations, answered, refused, kills } = await runBatchChaos({ lines: 400, kills: 3, seed: 5 });
  expect(violations).toEqual([]);
  expect([answered + refused, kills]).toEqual([400, 3]);
}, 120_000);
