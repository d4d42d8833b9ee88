// The fill of a cell in the fleet's grid.

import { expect, it } from "vitest";
import type { FleetGridGroup } from "../../../contract/fleet/fleet-grid.ts";
import { fillOf } from "../../../dashboard/fleet/cell-fill.ts";

const group = {
  states: ["online", "busy", "idle"],
  loads: [1, 0, 0],
  places: [4, 2, 0],
  gpu_used_mb: [10, null, 30],
  gpu_total_mb: [20, null, 30],
} as unknown as FleetGridGroup;

it("is the load, full for a worker that says it is busy, and nothing without places", () => {
  expect([0, 1, 2].map((index) => fillOf(group, index, "load"))).toEqual([0.25, 1, 0]);
});

it("is the GPU memory where it is known", () => {
  expect([0, 1, 2].map((index) => fillOf(group, index, "gpu"))).toEqual([0.5, 0, 1]);
});
