// What a tenant reads of history is its own, whatever another tenant does under the same names.

import { expect, it } from "vitest";
import { type Body, newWorld, type World } from "../support/workerd/client.ts";
import { dispatch, fail, present } from "../support/workerd/job-steps.ts";

const READ = [
  "/api/audit",
  "/api/audit?action=worker",
  "/api/schedules?runs=5",
  "/api/schedules/s/history",
  "/api/failures",
  "/api/marks?period=1h",
  "/api/workers/w/activity?period=30d",
  "/api/cost",
  "/api/cost/providers",
  ...["provider", "model", "tag", "key", "worker", "schedule", "metadata.team"].map((by) => `/api/cost/by/${by}`),
  ...[
    "status=completed",
    "provider=openai",
    "tag=a",
    "worker=w",
    "schedule=s",
    "error_code=oops",
    "metadata.team=blue",
  ],
  ...["q=zebra", "q=0", "unpriced=true", "unpriced=false", `since=${new Date(0).toISOString()}`, "count_only=true"],
  ...[
    "sort=-created_at",
    "sort=finished_at",
    "sort=-cost_usd",
    "sort=finished_at&q=zebra",
    "until=2999-01-01T00:00:00Z",
  ],
].map((read) => (read.startsWith("/") ? read : `/api/jobs?${read}`));

/** What time alone changes. */
const MOVES = new Set(["from", "to", "since", "until", "load"]);

const answersOf = async (world: World): Promise<Record<string, Body>> => {
  const found: Record<string, Body> = {};
  for (const path of READ)
    found[path] = JSON.parse(JSON.stringify(await world.ok("GET", path), (key, one) => (MOVES.has(key) ? null : one)));
  return found;
};

const work = async (world: World): Promise<void> => {
  await present(world, "w", { tags: "a" });
  const asked = { prompt: "a zebra", tags: ["a"], metadata: { team: "blue" } };
  for (const spent of [{ cost_usd: 1 }, { usage: { input_tokens: 1, output_tokens: 1 } }]) {
    const job = await dispatch(world, asked);
    await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: job.lease, result: 1, ...spent });
  }
  await fail(world, await dispatch(world, asked), { code: "oops", retryable: false });
  await world.ok("POST", "/api/schedules", { name: "s", interval: "1d", prompt: "a zebra" });
  await world.ok("POST", "/api/schedules/s/run");
  await world.ok("POST", "/api/workers/w/pause", {});
};

it("a tenant reads the same whatever another one does", async () => {
  const [world, other] = [await newWorld(), await newWorld()];
  await work(world);
  const before = await answersOf(world);
  await work(other);
  await other.ok("GET", "/api/jobs");
  expect(await answersOf(world)).toEqual(before);
});
