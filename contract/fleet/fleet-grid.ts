// The fleet as a grid on the wire: a few columns for each worker, so that one answer holds thousands.

import * as z from "zod";
import { type Cells, firstStateOf, GRID_GROUPS, REGION_PREFIX } from "../../domain/fleet/fleet-grid.ts";
import { WORKER_STATES } from "../../domain/fleet/worker-state.ts";
import { count } from "../words/field.ts";
import { workerListQuery } from "./worker.ts";

export const MAX_GRID_CELLS = 20_000;

export const fleetGridQuery = workerListQuery
  .pick({ q: true, state: true, provider: true, tag: true })
  .extend({
    by: z
      .enum(GRID_GROUPS)
      .default("provider")
      .meta({ description: `a worker's region is what follows in its tag \`${REGION_PREFIX}<name>\`` }),
  })
  .strict();

const megabytes = z.array(z.number().nullable());

const group = z.object({
  value: z.string().meta({ description: "empty: the workers that have none" }),
  workers: count,
  instances: z.array(z.string()),
  states: z
    .array(z.enum(WORKER_STATES))
    .meta({ description: "of a worker with several states the most important one" }),
  loads: z.array(count),
  places: z.array(count),
  gpu_used_mb: megabytes.meta({ description: "of all its GPUs; null: not known" }),
  gpu_total_mb: megabytes,
});

export const fleetGrid = z
  .object({
    by: z.enum(GRID_GROUPS),
    total: count.meta({ description: "workers that match" }),
    states: z.record(z.enum(WORKER_STATES), count).meta({ description: "each worker once" }),
    groups: z.array(group).meta({
      description: `the largest first; position n of each column is of one worker; at most ${MAX_GRID_CELLS} cells`,
    }),
  })
  .meta({ id: "FleetGrid" });

export type FleetGridQuery = z.infer<typeof fleetGridQuery>;
export type FleetGrid = z.infer<typeof fleetGrid>;
export type FleetGridGroup = FleetGrid["groups"][number];

export const presentCells = ({ value, workers, views }: Cells): FleetGridGroup => ({
  value,
  workers,
  instances: views.map(({ worker }) => worker.instance),
  states: views.map(firstStateOf),
  loads: views.map(({ load }) => load),
  places: views.map(({ worker }) => worker.concurrency),
  gpu_used_mb: views.map(({ worker }) => worker.machine?.gpuMemory?.usedMb ?? null),
  gpu_total_mb: views.map(({ worker }) => worker.machine?.gpuMemory?.totalMb ?? null),
});
