// The whole fleet as cells: a few columns of each worker, in groups. Pure. Invariant: at most `maxCells` cells, whatever
// tags workers give; a group says how many workers it has even where its cells are cut.

import type { WorkerView } from "./worker.ts";
import { isInState, type WorkerState } from "./worker-state.ts";

export const GRID_GROUPS = ["provider", "tag", "region"] as const;
type GridGroup = (typeof GRID_GROUPS)[number];

/** A worker's region is what follows this in a tag. */
export const REGION_PREFIX = "region:";

/** What a cell shows where a worker has several states: the state that an operator must know first. */
const FIRST = [
  "offline",
  "unconfirmed",
  "paused",
  "unavailable",
  "failing",
  "busy",
  "online",
  "idle",
] as const satisfies readonly WorkerState[];
true satisfies [Exclude<WorkerState, (typeof FIRST)[number]>] extends [never] ? true : false;

export const firstStateOf = (view: WorkerView): WorkerState => FIRST.find((state) => isInState(view, state)) ?? "idle";

/** Each worker once. */
export const countFirstStates = (views: readonly WorkerView[]): Record<WorkerState, number> => {
  const counts = Object.fromEntries(FIRST.map((state) => [state, 0])) as Record<WorkerState, number>;
  for (const view of views) counts[firstStateOf(view)] += 1;
  return counts;
};

/** A worker without the value has an empty text. */
const VALUES: Record<GridGroup, (view: WorkerView) => readonly string[]> = {
  provider: ({ worker }) => [worker.provider],
  tag: ({ worker }) => (worker.tags.length === 0 ? [""] : worker.tags),
  region: ({ worker }) => [worker.tags.find((tag) => tag.startsWith(REGION_PREFIX))?.slice(REGION_PREFIX.length) ?? ""],
};

export interface Cells {
  readonly value: string;
  workers: number;
  readonly views: WorkerView[];
}

/** Largest group first, those without the value last; the cells are in the order of the views. */
export const gridOf = (
  views: readonly WorkerView[],
  by: GridGroup,
  { maxGroups, maxCells }: { maxGroups: number; maxCells: number },
): Cells[] => {
  const groups = new Map<string, WorkerView[]>();
  for (const view of views) {
    for (const value of VALUES[by](view)) {
      const group = groups.get(value);
      if (group === undefined) groups.set(value, [view]);
      else group.push(view);
    }
  }
  let left = maxCells;
  return [...groups]
    .sort(([value, one], [otherValue, other]) =>
      value === "" || otherValue === ""
        ? Number(value === "") - Number(otherValue === "")
        : other.length - one.length || (value < otherValue ? -1 : 1),
    )
    .slice(0, maxGroups)
    .map(([value, all]) => {
      const shown = all.slice(0, left);
      left -= shown.length;
      return { value, workers: all.length, views: shown };
    });
};
