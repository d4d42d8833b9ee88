// A short run of `npm run chaos`, as part of every test run.

import { expect, test } from "vitest";
import { runChaos } from "./run.ts";

const KILLS = 5;

test("a server that is killed under load, with cut connections and stopped workers, breaks no promise", async () => {
  const { violations, evidence } = await runChaos({ kills: KILLS, seed: 1 });
  expect(violations).toEqual([]);
  const statuses = new Set([...evidence.jobs.values()].map(({ read }) => read?.status));
  expect(statuses).toContain("completed");
  expect(evidence.history.unansweredCount).toBeGreaterThan(0);
}, 120_000);
