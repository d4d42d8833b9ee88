// Why a job waits, and what a change of many jobs tells.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { QueueView } from "../../../contract/jobs/insight.ts";
import type { LiveJob } from "../../../contract/live.ts";
import { clearBoard, queue } from "../../../dashboard/state/board.ts";
import { changePart, countParts, mayChangeJob } from "../../../dashboard/state/bulk-change.ts";
import { ownersIn, reasonOf } from "../../../dashboard/state/waiting.ts";

const asks = { provider: null, model: null, tags: ["gpu"], api: null };

const waiting = (reason: string): LiveJob => ({ ...asks, status: "pending", waiting_reason: reason }) as LiveJob;

it("the jobs of one key wait as one flow, whatever their priorities", () => {
  const flow = { key_id: "a", fairness_key: null, waiting: 2, weight: 1, share: 1 };
  const countOf = (flows: QueueView["groups"][number]["flows"], flows_total = flows.length) =>
    ownersIn({ flows, flows_total } as QueueView["groups"][number]);
  const alone = [
    { ...flow, priority: "high" as const },
    { ...flow, priority: "low" as const },
  ];
  expect(countOf(alone)).toBe(1);
  expect(countOf([...alone, { ...flow, priority: "low", key_id: "b" }])).toBe(2);
  expect(countOf(alone, 40)).toBe(40);
  // The same person, as two keys name it.
  const named = { ...flow, fairness_key: "ada", priority: "low" as const };
  expect(countOf([named, { ...named, key_id: "b" }])).toBe(2);
});

describe("why a job waits", () => {
  beforeEach(() => {
    clearBoard();
    const at = "2026-01-01T00:00:00.000Z";
    const oldest = { oldest_at: at, waiting_since: at, capacity: null, priority_max: "normal" as const };
    const group = { ...asks, ...oldest, excluded_providers: [], count: 2 };
    queue.value = {
      groups: [{ ...group, reason: "every worker is at capacity", flows: [], flows_total: 1 }],
      groups_total: 1,
      total: 2,
      delayed: 1,
    } satisfies QueueView;
  });

  it("is what its group waits for now, not what it waited for when it was read", () => {
    expect(reasonOf(waiting('no worker offers tag "gpu"'))).toBe("every worker is at capacity");
  });

  it("is its own delay while it may not run, though others that ask for the same wait for a worker", () => {
    const later = `attempt 1 of 3 failed, it is tried again at ${new Date(Date.now() + 60_000).toISOString()}`;
    expect(reasonOf(waiting(later))).toBe(later);
    expect(reasonOf(waiting("not to run before 2026-01-01T00:00:00.000Z"))).toBe("every worker is at capacity");
    // A budget that was raised since it was read.
    const soon = new Date(Date.now() + 60_000).toISOString();
    expect(reasonOf(waiting(`the day's budget is reached; it resets at ${soon}`))).toBe("every worker is at capacity");
  });
});

it.each([
  ["a job", null, [true, true, false]],
  ["a batch's line", "chat/completions", [false, true, false]],
] as const)(
  "%s may be retried as the service allows it: failed, held by a lost worker, held by another",
  (_, api, may) => {
    const lost = new Set(["gone"]);
    const jobs = [
      { status: "failed", assigned_worker: "gone" },
      { status: "running", assigned_worker: "gone" },
      { status: "running", assigned_worker: "here" },
    ] as const;
    expect(jobs.map((job) => mayChangeJob("retry", { ...job, api }, lost))).toEqual(may);
  },
);

describe("a change of many jobs", () => {
  afterEach(() => vi.unstubAllGlobals());

  it("counts before what may be changed, beside what matches", async () => {
    const told = { matched: 5, changed: 0, refused: { job_state: 3 }, remaining: 2 };
    const asked: unknown[] = [];
    vi.stubGlobal("fetch", async (_: unknown, init: RequestInit) => {
      asked.push(JSON.parse(String(init.body)));
      return Response.json(told);
    });
    const parts = await countParts("retry", { status: "failed" }, new AbortController().signal);
    expect(parts).toEqual([{ filter: { status: "failed" }, total: 5, changeable: 2 }]);
    expect(asked).toEqual([{ action: "retry", filter: { status: "failed" }, dry_run: true }]);
  });

  it("counts the refused of all its parts", async () => {
    const reports = [
      { changed: 2, refused: { job_state: 3 }, remaining: 3 },
      { changed: 0, refused: { job_state: 3 }, remaining: 3 },
      { changed: 4, refused: {}, remaining: 0 },
    ];
    vi.stubGlobal("fetch", async () => Response.json(reports.shift()));
    const tally = { changed: 0, refused: 0 };
    for (const status of ["pending", "running"])
      await changePart("cancel", { filter: { status }, total: 5, changeable: 5 }, false, tally, () => {});
    expect(tally).toEqual({ changed: 6, refused: 3 });
  });
});
