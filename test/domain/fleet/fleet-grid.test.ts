// The fleet as cells: one state each, in groups, bounded.

import { describe, expect, it } from "vitest";
import { countFirstStates, firstStateOf, gridOf } from "../../../domain/fleet/fleet-grid.ts";
import type { WorkerView } from "../../../domain/fleet/worker.ts";

const view = (instance: string, tags: string[] = [], fields: object = {}): WorkerView =>
  ({
    worker: { instance, provider: instance.split("-")[0], tags, outcomes: [], concurrency: 2 },
    load: 0,
    status: "idle",
    pause: null,
    unavailable: null,
    haltConfirmed: null,
    ...fields,
  }) as unknown as WorkerView;

const BOUNDS = { maxGroups: 10, maxCells: 100 };
const shape = (views: WorkerView[], by: "provider" | "tag" | "region", bounds = BOUNDS) =>
  gridOf(views, by, bounds).map(({ value, workers, views: cells }) => [
    value,
    workers,
    cells.map(({ worker }) => worker.instance),
  ]);

describe("the fleet's grid", () => {
  it("shows the state of a worker that matters most", () => {
    expect(firstStateOf(view("a", [], { status: "offline", pause: { reason: "x", untilAt: null } }))).toBe("offline");
    expect(
      firstStateOf(view("a", [], { status: "busy", pause: { reason: "x", untilAt: null }, unavailable: "y" })),
    ).toBe("paused");
    expect(firstStateOf(view("a", [], { status: "busy", unavailable: "y" }))).toBe("unavailable");
    expect(firstStateOf(view("a", [], { haltConfirmed: false, pause: { reason: "killswitch", untilAt: null } }))).toBe(
      "unconfirmed",
    );
    expect(firstStateOf(view("a", [], { status: "online" }))).toBe("online");
    const counts = countFirstStates([view("a"), view("b"), view("c", [], { status: "busy" })]);
    expect(counts).toMatchObject({ idle: 2, busy: 1, offline: 0 });
  });

  it("groups by provider, by every tag, or by region, the largest group first and those without one last", () => {
    const views = [view("x-1", ["gpu", "region:eu"]), view("y-1", ["gpu"]), view("y-2", ["cpu", "region:us"])];
    expect(shape(views, "provider")).toEqual([
      ["y", 2, ["y-1", "y-2"]],
      ["x", 1, ["x-1"]],
    ]);
    expect(shape(views, "tag")[0]).toEqual(["gpu", 2, ["x-1", "y-1"]]);
    expect(shape(views, "region").map(([value]) => value)).toEqual(["eu", "us", ""]);
  });

  it("has no more cells than its bound, and says how many workers there are all the same", () => {
    const views = [view("x-1"), view("x-2"), view("y-1")];
    expect(shape(views, "provider", { maxGroups: 10, maxCells: 1 })).toEqual([
      ["x", 2, ["x-1"]],
      ["y", 1, []],
    ]);
    expect(shape(views, "provider", { maxGroups: 1, maxCells: 9 })).toHaveLength(1);
  });
});
