// The sign of a worker's state, in the grid and in words: a shape and a colour each, so that it is read without its
// colour. Squares are filled by what the grid shows, its load or its GPU memory.

import type { WorkerState } from "../../contract/words/values.ts";

export const CELL_UNITS = 12;

interface CellShape {
  /** In a box of CELL_UNITS. */
  readonly path: string;
  /** A custom property of the theme. */
  readonly colour: string;
  /** An outline that is filled from below. */
  readonly isGauge?: true;
}

const SQUARE = "M1 1h10v10H1Z";

export const CELL_SHAPES: Readonly<Record<WorkerState, CellShape>> = {
  idle: { path: SQUARE, colour: "--accent", isGauge: true },
  online: { path: SQUARE, colour: "--accent", isGauge: true },
  busy: { path: SQUARE, colour: "--accent", isGauge: true },
  unavailable: { path: "M6 1 11.5 11H.5Z", colour: "--amber-lamp" },
  paused: { path: "M2 1h3v10H2ZM7 1h3v10H7Z", colour: "--red-lamp" },
  failing: { path: "M6 .3 11.7 6 6 11.7.3 6Z", colour: "--red-lamp" },
  unconfirmed: { path: "M3 1 6 4 9 1l2 2-3 3 3 3-2 2-3-3-3 3-2-2 3-3-3-3Z", colour: "--red-lamp" },
  offline: { path: "M6 4a2 2 0 1 1 0 4 2 2 0 1 1 0-4Z", colour: "--line-strong" },
};

/** How full a square of the legend is: nothing, a part, all. */
const LEGEND_FILL: Partial<Record<WorkerState, number>> = { online: 0.5, busy: 1 };

export const CellSign = ({ state }: { state: WorkerState }) => {
  const { path, colour, isGauge } = CELL_SHAPES[state];
  const fill = LEGEND_FILL[state] ?? 0;
  return (
    <svg class="cell-sign" style={{ color: `var(${colour})` }} viewBox="0 0 12 12" aria-hidden="true">
      <path d={path} class={isGauge ? "cell-frame" : "cell-solid"} />
      {isGauge && fill > 0 && <rect class="cell-solid" x="1" width="10" y={11 - 10 * fill} height={10 * fill} />}
    </svg>
  );
};
