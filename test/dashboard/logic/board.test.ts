// The live board: messages in, latest state out, bounded.

import { beforeEach, describe, expect, it } from "vitest";
import type { WorkerResource } from "../../../contract/fleet/worker.ts";
import type { LiveJob, LiveMessage } from "../../../contract/live.ts";
import {
  apply,
  clearBoard,
  counts,
  jobs,
  listedCounts,
  minutes,
  workers,
  workersTotal,
} from "../../../dashboard/state/board.ts";

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

const job = (id: string, changes: Partial<LiveJob> = {}): LiveJob =>
  ({ id, status: "pending", created_at: at(0), updated_at: at(0), ...changes }) as LiveJob;

const worker = (instance: string): WorkerResource => ({ instance, status: "idle" }) as WorkerResource;

const snapshot = (given: Partial<Extract<LiveMessage, { type: "snapshot" }>> = {}): LiveMessage =>
  ({
    type: "snapshot",
    jobs: [],
    workers: [],
    workers_total: 0,
    fleet: [],
    schedules: [],
    counts: {},
    queue: { groups: [], groups_total: 0, total: 0, delayed: 0 },
    minutes: [],
    today_usd: 0,
    budget_reached: null,
    removed_models: [],
    storage_warnings: [],
    pruned: {},
    ...given,
  }) as LiveMessage;

describe("the live board", () => {
  beforeEach(clearBoard);

  it("starts again with a snapshot, and forgets the earlier state", () => {
    apply([snapshot({ jobs: [job("a")] })]);
    apply([snapshot({ jobs: [job("b")] })]);
    expect([...jobs.value.keys()]).toEqual(["b"]);
  });

  it("ignores what came before a snapshot of the same batch", () => {
    apply([{ type: "job.updated", job: job("a"), counts: {} } as LiveMessage, snapshot({ jobs: [job("b")] })]);
    expect([...jobs.value.keys()]).toEqual(["b"]);
  });

  it("shows the latest state and the totals of the last message", () => {
    const updated = (status: LiveJob["status"], completed: number): LiveMessage =>
      ({ type: "job.updated", job: job("a", { status }), counts: { completed } }) as LiveMessage;
    apply([snapshot(), updated("running", 0), updated("completed", 1)]);
    expect(jobs.value.get("a")?.status).toBe("completed");
    expect(counts.value.completed).toBe(1);
  });

  it("counts final jobs of all time, and those that lists still show", () => {
    apply([snapshot({ counts: { completed: 5, pending: 1 } as never, pruned: { completed: 2 } })]);
    expect([counts.value.completed, listedCounts.value]).toEqual([5, { completed: 3, pending: 1 }]);
    apply([{ type: "storage.updated", storage_warnings: [], pruned: { completed: 5 } }]);
    expect([counts.value.completed, listedCounts.value.completed]).toEqual([5, 0]);
  });

  it("holds a bounded number of jobs, and lets the oldest finished ones go first", () => {
    const finished = Array.from({ length: 600 }, (_, index) =>
      job(`done-${index}`, { status: "completed", updated_at: at(index) }),
    );
    apply([
      snapshot({ jobs: [job("open")] }),
      ...finished.map((one) => ({ type: "job.updated", job: one, counts: {} }) as LiveMessage),
    ]);
    expect(jobs.value.size).toBeLessThanOrEqual(400);
    expect(jobs.value.has("open")).toBe(true);
    expect(jobs.value.has("done-599")).toBe(true);
    expect(jobs.value.has("done-0")).toBe(false);
  });

  it("keeps one count for each minute, however often it is told of it", () => {
    const minute = (at: string, completed: number) => ({ at, created: 0, completed, failed: 0, cancelled: 0 });
    const told = (...newest: ReturnType<typeof minute>[]): LiveMessage =>
      ({ type: "activity.updated", minutes: newest }) as LiveMessage;
    apply([
      snapshot({ minutes: [minute(at(0), 5)] }),
      told(minute(at(0), 7), minute(at(60), 1)),
      told(minute(at(60), 2)),
    ]);
    expect(minutes.value.map(({ completed }) => completed)).toEqual([7, 2]);
  });

  it("counts workers that come and go", () => {
    apply([snapshot({ workers: [worker("one")], workers_total: 1 })]);
    apply([{ type: "worker.updated", worker: worker("two") }]);
    expect(workersTotal.value).toBe(2);
    apply([{ type: "worker.forgotten", instance: "one" }]);
    expect([...workers.value.keys()]).toEqual(["two"]);
    expect(workersTotal.value).toBe(1);
  });
});
