// Rows of a waterfall: a name, a bar on the shown part of the time, and how long it took.

import { duration } from "../../format.ts";
import { PHASE_NAMES, type Phase, type Span } from "./attempt-spans.ts";
import { placeIn, ticksOf, type Window } from "./waterfall-window.ts";

const BAR = 1000;
const LEAST_WIDTH = 4;

/** At the edge behind which a span lies that is not shown. */
const Away = ({ isBefore }: { isBefore: boolean }) => (
  <path class="fall-away" d={isBefore ? "M0 11 10 7V15Z" : `M${BAR} 11 ${BAR - 10} 7V15Z`} />
);

interface Look {
  readonly shown: Window;
  readonly whole: Window;
}

const Bar = ({ span, kind, shown, whole }: Look & { span: Window; kind: Phase | "own" }) => {
  const place = placeIn(shown, span);
  return (
    <svg class="fall-bar" viewBox={`0 0 ${BAR} 22`} preserveAspectRatio="none" aria-hidden="true">
      <path
        class="fall-ticks"
        d={ticksOf(shown, whole)
          .map(({ at }) => `M${at * BAR} 0V22`)
          .join("")}
      />
      {place === null ? (
        <Away isBefore={span.to < shown.from} />
      ) : (
        <rect
          class={`phase-${kind}`}
          x={Math.min(place.at * BAR, BAR - LEAST_WIDTH)}
          width={Math.max(place.width * BAR, LEAST_WIDTH)}
          y="6"
          height="10"
        />
      )}
    </svg>
  );
};

const Row = ({ name, kind, span, ...look }: Look & { name: string; kind: Phase | "own"; span: Window }) => (
  <li class={kind === "own" ? "fall fall-own" : "fall"}>
    <span class="fall-name">{name}</span>
    <Bar span={span} kind={kind} {...look} />
    <span class="fall-took num">{duration(span.to - span.from)}</span>
  </li>
);

export interface OwnSpan extends Window {
  readonly name: string;
}

export const Waterfall = ({
  spans,
  own = [],
  ...look
}: Look & {
  spans: readonly Span[];
  /** What the worker itself said that it did. */
  own?: readonly OwnSpan[];
}) => (
  <ul class="falls">
    {spans.map((span) => (
      <Row key={span.phase} name={PHASE_NAMES[span.phase]} kind={span.phase} span={span} {...look} />
    ))}
    {own.map((span, index) => (
      <Row key={`${index} ${span.name}`} name={span.name} kind="own" span={span} {...look} />
    ))}
  </ul>
);

const tickText = (ms: number): string => (ms < 1 ? "0" : duration(ms));

/** Nearer to an end a label would stand over it. */
const NEAR_END = 0.06;
const anchorOf = (at: number) => (at < NEAR_END ? "start" : at > 1 - NEAR_END ? "end" : "middle");

export const WaterfallAxis = ({ shown, whole }: Look) => (
  <svg class="fall-axis num" aria-hidden="true">
    {ticksOf(shown, whole).map(({ ms, at }) => (
      <text key={ms} x={`${at * 100}%`} y="12" text-anchor={anchorOf(at)}>
        {tickText(ms)}
      </text>
    ))}
  </svg>
);
