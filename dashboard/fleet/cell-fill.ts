// How far a worker's cell is filled, from 0 to 1. Pure.

import type { FleetGridGroup } from "../../contract/fleet/fleet-grid.ts";

export type CellFill = "load" | "gpu";

const shareOf = (used: number, whole: number): number => (whole === 0 ? 0 : Math.min(1, used / whole));

/** A worker that says it is busy takes nothing more, whatever it holds of ours: it is full. */
export const fillOf = (group: FleetGridGroup, index: number, fill: CellFill): number => {
  if (fill === "gpu") return shareOf(group.gpu_used_mb[index] ?? 0, group.gpu_total_mb[index] ?? 0);
  return group.states[index] === "busy" ? 1 : shareOf(group.loads[index] ?? 0, group.places[index] ?? 0);
};
