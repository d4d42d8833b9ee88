// A line without axes: how a figure went over its span. The figure beside it is the text; the picture has a name.

interface SparkProps {
  /** What it shows, with unit and span. */
  name: string;
  /** Oldest first; null where nothing is known. */
  values: readonly (number | null)[];
  /** A custom property of the theme. */
  colour: string;
}

const WIDTH = 120;
const HEIGHT = 32;
const EDGE = 2;

const stepOf = (values: SparkProps["values"]): number => WIDTH / Math.max(1, values.length - 1);

/** Runs of known values as points of the drawing; the lowest line is zero. */
const runsOf = (values: SparkProps["values"]): [x: number, y: number][][] => {
  const max = Math.max(...values.map((value) => value ?? 0)) || 1;
  const step = stepOf(values);
  const runs: [number, number][][] = [[]];
  for (const [index, value] of values.entries()) {
    if (value === null) runs.push([]);
    else runs.at(-1)?.push([index * step, HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (value / max)]);
  }
  return runs.filter((run) => run.length > 0);
};

const lineOf = (run: [number, number][]): string =>
  run.map(([x, y], index) => `${index === 0 ? "M" : "L"}${x.toFixed(1)},${y.toFixed(1)}`).join("");

/** A single known value would be a line without length: it is as wide as a step. */
const widened = (run: [number, number][], step: number): [number, number][] => {
  const [first] = run;
  if (run.length !== 1 || first === undefined) return run;
  const [at, y] = first;
  return [
    [Math.max(0, at - step), y],
    [Math.max(step, at), y],
  ];
};

export const Spark = ({ name, values, colour }: SparkProps) => (
  <svg
    class="spark"
    style={{ color: `var(${colour})` }}
    viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
    preserveAspectRatio="none"
    role="img"
    aria-label={name}
  >
    {runsOf(values)
      .map((run) => widened(run, stepOf(values)))
      .map((run) => (
        <g key={run[0]?.[0]}>
          <path
            class="spark-area"
            d={`${lineOf(run)}L${run.at(-1)?.[0].toFixed(1)},${HEIGHT}L${run[0]?.[0].toFixed(1)},${HEIGHT}Z`}
          />
          <path class="spark-line" d={lineOf(run)} />
        </g>
      ))}
  </svg>
);
