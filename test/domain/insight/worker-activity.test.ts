// What a worker did in each step of a period.

import { describe, expect, it } from "vitest";
import { runTime, type WorkedJob, workedIn } from "../../../domain/insight/worker-activity.ts";

const job = (startedAt: number | null, finishedAt: number | null, fields: Partial<WorkedJob> = {}): WorkedJob => ({
  status: finishedAt === null ? "running" : "completed",
  startedAt,
  finishedAt,
  provider: "vllm",
  model: "m",
  nanoUsd: null,
  ...fields,
});
const period = { steps: [100, 200, 300], stepMs: 100, nowAt: 350 };

describe("a worker's activity", () => {
  it("counts a job where it ended, and its load wherever it ran", () => {
    const { series, total } = workedIn([job(150, 320, { nanoUsd: 7 })], period);
    expect(series.map(({ completed }) => completed)).toEqual([0, 0, 1]);
    expect(series.map(({ busyMs }) => busyMs)).toEqual([50, 100, 20]);
    expect(total).toMatchObject({ completed: 1, failed: 0, nanoUsd: 7 });
    expect(runTime(total, 0.95)).toBeGreaterThan(150);
  });

  it("loads the present with what still runs, and counts no end of it", () => {
    const { series, total } = workedIn([job(310, null)], period);
    expect(series[2]?.busyMs).toBe(40);
    expect(total).toMatchObject({ completed: 0, failed: 0 });
  });

  it("leaves out what ended before, and what never started has no load", () => {
    const early = workedIn([job(10, 90)], period);
    expect(early.total.completed).toBe(0);
    expect(early.series.every(({ busyMs }) => busyMs === 0)).toBe(true);
    expect(workedIn([job(null, 210, { status: "cancelled" })], period).total).toMatchObject({
      completed: 0,
      failed: 0,
    });
  });

  it("says what it served, most jobs first", () => {
    const failed = { status: "failed", model: "n" };
    const { served } = workedIn([job(110, 120), job(110, 130, failed), job(210, 230, failed)], period);
    expect(served.map(({ model, completed, failed: bad }) => [model, completed, bad])).toEqual([
      ["n", 0, 2],
      ["m", 1, 0],
    ]);
  });
});
