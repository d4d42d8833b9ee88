// A plot by uPlot, which arrives only when one is shown. Colours come from the theme; the numbers stand beside it in
// words, so the canvas itself is only named.

import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { shownTheme } from "../state/theme.ts";

export interface Line {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** A custom property of the theme. */
  readonly colour: string;
  readonly kind: "bars" | "line" | "area";
}

interface PlotProps {
  name: string;
  at: readonly number[];
  lines: readonly Line[];
  height?: number;
  unit: (value: number) => string;
  /** Bars stand for whole days, in UTC. */
  isUtc?: boolean;
}

const colourOf = (property: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(property).trim();

const seriesOf = (Plot: typeof uPlot, line: Line): uPlot.Series => {
  const stroke = colourOf(line.colour);
  const base = {
    label: line.label,
    stroke,
    width: line.kind === "bars" ? 0 : 1.5,
    points: { show: false },
    spanGaps: true,
  };
  if (line.kind === "line") return { ...base, points: { show: true, size: 4, fill: stroke } };
  if (line.kind === "area") return { ...base, fill: `${stroke}33` };
  const paths = Plot.paths.bars?.({ size: [0.7, 40], align: 1 });
  return { ...base, fill: stroke, ...(paths === undefined ? {} : { paths }) };
};

const DAY_SECONDS = 86_400;
const stepOf = (at: readonly number[]): number => (at[1] ?? 0) - (at[0] ?? 0);

const atLabel = (seconds: number, step: number, isUtc = false): string =>
  new Date(seconds * 1000).toLocaleString("en-GB", {
    ...(step >= DAY_SECONDS
      ? { day: "numeric", month: "short" }
      : { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }),
    ...(isUtc ? { timeZone: "UTC" } : {}),
  });

const optionsOf = (
  Plot: typeof uPlot,
  { at, lines, height = 160, unit, isUtc }: PlotProps,
  width: number,
): uPlot.Options => {
  const axis = { stroke: colourOf("--muted"), font: "11px system-ui, sans-serif", ticks: { show: false } };
  const grid = { stroke: colourOf("--line"), width: 1 };
  return {
    width,
    height,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 4, 0, 0],
    ...(isUtc ? { tzDate: (seconds: number) => Plot.tzDate(new Date(seconds * 1000), "UTC") } : {}),
    scales: {
      // Bars begin at their instant: the last one needs room for its whole width.
      x: { range: (_plot, min, max) => [min, max + stepOf(at)] },
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 64,
        size: 24,
        values: (_plot, splits) => splits.map((split) => atLabel(split, stepOf(at), isUtc)),
      },
      { ...axis, grid, size: 52, space: 32, values: (_plot, splits) => splits.map((split) => unit(split)) },
    ],
    series: [{}, ...lines.map((line) => seriesOf(Plot, line))],
  };
};

export const Plot = (props: PlotProps) => {
  const box = useRef<HTMLDivElement>(null);
  const drawn = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const data = (): uPlot.AlignedData => [
    [...latest.current.at],
    ...latest.current.lines.map(({ values }) => [...values]),
  ];
  const theme = shownTheme.value;
  const shape = props.lines.map(({ label, kind }) => label + kind).join();

  // Drawn anew for another theme or other lines only.
  useEffect(() => {
    let isGone = false;
    const observer = new ResizeObserver(([entry]) => {
      const { height = 160 } = latest.current;
      if (entry !== undefined) drawn.current?.setSize({ width: Math.floor(entry.contentRect.width), height });
    });
    import("./uplot.ts").then(({ uPlot: Loaded }) => {
      if (isGone || box.current === null) return;
      drawn.current = new Loaded(optionsOf(Loaded, latest.current, box.current.clientWidth), data(), box.current);
      observer.observe(box.current);
    });
    return () => {
      isGone = true;
      observer.disconnect();
      drawn.current?.destroy();
      drawn.current = null;
    };
  }, [theme, shape]);

  // The numbers are all that changes.
  useEffect(() => drawn.current?.setData(data()), [props.at, props.lines]);

  return <div ref={box} class="plot" role="img" aria-label={props.name} />;
};

export const PlotLegend = ({ lines }: { lines: readonly Pick<Line, "label" | "colour">[] }) => (
  <ul class="plot-legend">
    {lines.map(({ label, colour }) => (
      <li key={label}>
        <span class={`swatch swatch${colour}`} aria-hidden="true" />
        {label}
      </li>
    ))}
  </ul>
);
