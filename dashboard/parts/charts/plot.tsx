// An SVG chart in the theme's colours: bars and lines over time on one scale. The numbers are also in the text,
// so the picture only has a name.

import { useEffect, useRef, useState } from "preact/hooks";
import { axisTime } from "../../format.ts";
import { MarkGlyph, type MarkKind } from "./mark-glyph.tsx";

export interface PlotLine {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** A custom property of the theme. */
  readonly colour: string;
  readonly kind: "bars" | "line";
  /** Where its bars begin: on top of the previous ones; default: at zero. */
  readonly from?: readonly number[];
}

export interface PlotMark {
  /** Seconds since 1970. */
  readonly at: number;
  readonly kind: MarkKind;
  readonly says: string;
}

interface PlotProps {
  name: string;
  /** Seconds since 1970, evenly spaced. */
  at: readonly number[];
  lines: readonly PlotLine[];
  height?: number;
  unit: (value: number) => string;
  /** Events that explain the figures. */
  marks?: readonly PlotMark[];
  /** Its hours, too, are those of UTC. */
  isUtc?: boolean;
}

const DAY_SECONDS = 86_400;
const LEFT = 60;
const BOTTOM = 22;
const TOP = 8;
const LABEL_WIDTH = 72;
/** Days of which an axis shows the hours; of more it shows the days. */
const MOST_OF_HOURS = 2;
const LABEL_HEIGHT = 34;
const MAX_BAR = 40;
const MARK_SIZE = 12;
const MARK_PITCH = 1.1 * MARK_SIZE;
/** Of one instant at most so many signs stand beside each other; more would wander away from it. */
const MAX_BESIDE = 3;

/** 1, 2 or 5 times a power of ten, so that at most `most` steps reach `max`. */
const roundStep = (max: number, most: number): number => {
  const power = 10 ** Math.floor(Math.log10(max / most));
  return (([1, 2, 5].find((times) => times * power * most >= max) ?? 10) as number) * power;
};

/** Where the browser's user has chosen no other size. */
const USUAL_TEXT_PX = 16;
const textPx = (): number => Number.parseFloat(getComputedStyle(document.documentElement).fontSize);

/** In the picture's own pixels, which grow with the page's text. */
const useWidth = () => {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const { current } = box;
    if (current === null) return;
    const observer = new ResizeObserver(([entry]) =>
      setWidth(Math.floor(((entry?.contentRect.width ?? 0) * USUAL_TEXT_PX) / textPx())),
    );
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return { box, width };
};

const stepOf = ([first = 0, second = first]: readonly number[]): number => second - first;

/** The service's days are those of UTC. */
const isOfDays = (at: readonly number[]): boolean => stepOf(at) >= DAY_SECONDS;

interface AxisLabel {
  readonly x: number;
  readonly says: string;
}

/** Where they have room. Steps of one day share its name, which stands at the first of them. */
export const axisLabels = (
  at: readonly number[],
  { xOf, width, isUtc }: Pick<Scale, "xOf"> & { width: number; isUtc: boolean },
): AxisLabel[] => {
  const hasDays = stepOf(at) * at.length > MOST_OF_HOURS * DAY_SECONDS;
  const says = at.map((seconds) => axisTime(seconds * 1000, hasDays, isUtc));
  let freeFrom = 0;
  return says.flatMap((one, index) => {
    const x = xOf(index);
    if (one === says[index - 1] || x < freeFrom || x + LABEL_WIDTH / 2 > width) return [];
    freeFrom = x + LABEL_WIDTH;
    return [{ x, says: one }];
  });
};

interface Scale {
  readonly xOf: (index: number) => number;
  readonly yOf: (value: number) => number;
  readonly slot: number;
}

/** Points in runs: a gap in the values interrupts the line. */
export const pathOf = (values: PlotLine["values"], { xOf, yOf }: Pick<Scale, "xOf" | "yOf">): string =>
  values
    .map((value, index) => {
      if (value === null) return "";
      const isStart = index === 0 || values[index - 1] === null;
      return `${isStart ? "M" : "L"}${xOf(index).toFixed(1)},${yOf(value).toFixed(1)}`;
    })
    .join("");

const Shape = ({ line, scale }: { line: PlotLine; scale: Scale }) => {
  const style = { color: `var(${line.colour})` };
  if (line.kind === "bars") {
    const wide = Math.max(1, Math.min(scale.slot * 0.7, MAX_BAR));
    return (
      <g class="plot-bar" style={style}>
        {line.values.map((value, index) =>
          value === null || value === 0 || value === line.from?.[index] ? null : (
            <rect
              key={index}
              x={scale.xOf(index)}
              width={wide}
              y={scale.yOf(value)}
              height={scale.yOf(line.from?.[index] ?? 0) - scale.yOf(value)}
            />
          ),
        )}
      </g>
    );
  }
  return (
    <>
      <path class="plot-line" style={style} d={pathOf(line.values, scale)} />
      <g class="plot-bar" style={style}>
        {line.values.map((value, index) =>
          value === null ? null : <circle key={index} cx={scale.xOf(index)} cy={scale.yOf(value)} r="2" />,
        )}
      </g>
    </>
  );
};

/** For each mark, how many follow so closely that their signs would cover its own: its sign moves left for them. */
export const followersOf = (marks: readonly Pick<PlotMark, "at">[], closeSeconds: number): number[] => {
  const followers: number[] = [];
  for (let index = marks.length - 1; index >= 0; index--) {
    const toNext = (marks[index + 1]?.at ?? Number.POSITIVE_INFINITY) - (marks[index]?.at ?? 0);
    followers.unshift(toNext < closeSeconds ? Math.min((followers[0] ?? 0) + 1, MAX_BESIDE) : 0);
  }
  return followers;
};

const Marks = ({
  marks,
  at,
  scale,
  foot,
}: {
  marks: readonly PlotMark[];
  at: readonly number[];
  scale: Scale;
  foot: number;
}) => {
  const [first = 0, second = first + 1] = at;
  const shown = marks.filter((mark) => mark.at >= first);
  const followers = followersOf(shown, (second - first) / 2);
  return (
    <g>
      {shown.map((mark, index) => {
        const x = scale.xOf((mark.at - first) / (second - first));
        return (
          <g key={`${mark.at} ${mark.says}`} class={`plot-mark mark-${mark.kind}`}>
            <title>{mark.says}</title>
            <line x1={x} x2={x} y1={MARK_SIZE + 2} y2={foot} />
            <MarkGlyph kind={mark.kind} x={x - MARK_SIZE / 2 - (followers[index] ?? 0) * MARK_PITCH} size={MARK_SIZE} />
          </g>
        );
      })}
    </g>
  );
};

const Axes = ({
  at,
  scale,
  max,
  width,
  height,
  unit,
  isUtc = false,
}: Omit<PlotProps, "name" | "lines" | "marks"> & { scale: Scale; max: number; width: number; height: number }) => {
  const most = Math.max(1, Math.floor((height - TOP - BOTTOM) / LABEL_HEIGHT));
  const valueStep = roundStep(max, most);
  const values = Array.from({ length: Math.floor(max / valueStep) + 1 }, (_, index) => index * valueStep);
  const isByUtc = isUtc || isOfDays(at);
  return (
    <g class="plot-axes">
      {values.map((value) => (
        <g key={value}>
          <line x1={LEFT} x2={width} y1={scale.yOf(value)} y2={scale.yOf(value)} />
          <text x={LEFT - 8} y={scale.yOf(value) + 4} text-anchor="end">
            {unit(value)}
          </text>
        </g>
      ))}
      {isByUtc && (
        <text x={LEFT - 8} y={height - 6} text-anchor="end">
          UTC
        </text>
      )}
      {axisLabels(at, { xOf: scale.xOf, width, isUtc: isByUtc }).map(({ x, says }) => (
        <text key={x} x={x} y={height - 6}>
          {says}
        </text>
      ))}
    </g>
  );
};

export const Plot = ({ name, at, lines, marks = [], height = 160, ...rest }: PlotProps) => {
  const { box, width } = useWidth();
  const highest = Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const max = highest > 0 ? highest * 1.1 : 1;
  const slot = (width - LEFT) / Math.max(1, at.length);
  const top = marks.length === 0 ? TOP : TOP + MARK_SIZE;
  const scale: Scale = {
    slot,
    xOf: (index) => LEFT + index * slot,
    yOf: (value) => top + (height - top - BOTTOM) * (1 - value / max),
  };
  return (
    <div ref={box} class="plot" role="img" aria-label={name}>
      {width > LEFT && (
        <svg
          class="plot-drawing"
          viewBox={`0 0 ${width} ${height}`}
          height={`${height / USUAL_TEXT_PX}rem`}
          aria-hidden="true"
        >
          <Axes {...rest} at={at} scale={scale} max={max} width={width} height={height} />
          {lines.map((line) => (
            <Shape key={line.label} line={line} scale={scale} />
          ))}
          <Marks marks={marks} at={at} scale={scale} foot={height - BOTTOM} />
        </svg>
      )}
    </div>
  );
};

export const PlotLegend = ({ lines }: { lines: readonly Pick<PlotLine, "label" | "colour">[] }) => (
  <ul class="plot-legend">
    {lines.map(({ label, colour }) => (
      <li key={label}>
        <span class="swatch" style={{ color: `var(${colour})` }} aria-hidden="true" />
        {label}
      </li>
    ))}
  </ul>
);
