// A task for a worker's models: its states, and when its worker is given it.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { machineOf, UNKNOWN_MACHINE } from "../../../domain/fleet/machine.ts";
import {
  cancelTask,
  endTask,
  isTaskLive,
  isTaskOver,
  isToBeGiven,
  type ModelTask,
  newModelTask,
  noLongerOwed,
  noteTaskProgress,
  owedAgain,
} from "../../../domain/fleet/model-task.ts";
import { NOON } from "../job/sample-jobs.ts";

const NEW = newModelTask({ id: "t", worker: "w", action: "pull", model: "m", keepAlive: null }, NOON);
const PROGRESS = { completedBytes: 1, totalBytes: 2, bytesPerSecond: null, stage: "pulling" };
const FAULT = { code: "x", message: "y" };
const SILENT_MS = 60_000;

type Step = (task: ModelTask, at: number) => { ok: boolean; value?: ModelTask };
const STEPS: readonly Step[] = [
  (task, at) => noteTaskProgress(task, PROGRESS, at),
  (task, at) => endTask(task, null, at),
  (task, at) => endTask(task, FAULT, at),
  (task, at) => cancelTask(task, at),
];

describe("a model task", () => {
  it("that is over stays as it ended, whatever is reported", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: STEPS.length - 1 })), (steps) => {
        let task = NEW;
        steps.forEach((step, index) => {
          const before = task;
          const done = STEPS[step]?.(task, NOON + index);
          expect(done?.ok).toBe(!isTaskOver(before));
          if (done?.ok && done.value !== undefined) task = done.value;
          expect(isTaskOver(task)).toBe(task.finishedAt !== null);
        });
      }),
    );
  });

  it("has all its bytes when it is done, and keeps what it had when it failed", () => {
    const running = noteTaskProgress(NEW, PROGRESS, NOON);
    if (!running.ok) throw new Error("refused");
    const ended = (error: typeof FAULT | null, task = running.value) => {
      const end = endTask(task, error, NOON);
      return end.ok ? end.value.progress.completedBytes : "refused";
    };
    expect([ended(null), ended(FAULT), ended(null, NEW)]).toEqual([2, 1, null]);
  });

  it("is given until its first report, again when its worker is back, and once more when it is cancelled", () => {
    const given = (task: ModelTask, at = NOON) => isToBeGiven(task, SILENT_MS, at);
    expect(given(NEW)).toBe(true);
    const running = noteTaskProgress(NEW, PROGRESS, NOON);
    if (!running.ok) throw new Error("refused");
    expect(given(running.value)).toBe(false);
    expect(given(owedAgain(running.value))).toBe(true);
    expect([given(running.value, NOON + SILENT_MS), given(running.value, NOON + SILENT_MS + 1)]).toEqual([false, true]);
    const cancelled = cancelTask(running.value, NOON);
    if (!cancelled.ok) throw new Error("refused");
    expect([given(cancelled.value), isTaskLive(cancelled.value)]).toEqual([true, true]);
    const known = noLongerOwed(cancelled.value);
    expect([given(known, NOON + 2 * SILENT_MS), isTaskLive(known), owedAgain(known).isOwed]).toEqual([
      false,
      false,
      false,
    ]);
  });
});

describe("a machine", () => {
  it("is known again by an equal report, and unknown without one", () => {
    const report = { ...UNKNOWN_MACHINE, maxLoaded: 2 };
    const machine = machineOf(report);
    expect(machineOf({ ...report }, machine)).toBe(machine);
    expect(machineOf({ ...report, maxLoaded: 3 }, machine)?.id).not.toBe(machine?.id);
    expect(machineOf(UNKNOWN_MACHINE, machine)).toBeNull();
  });
});
