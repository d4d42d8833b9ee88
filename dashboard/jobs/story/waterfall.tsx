// Rows of a waterfall: a name, a bar on the shown part of the time, and how long it took.

import { duration } from "../../format.ts";
import { PHASE_NAMES, type Phase, type Span } from "./attempt-spans.ts";
import { placeIn, ticksOf, type Window } from "./waterfall-window.ts";

const BAR = 1000;
const LEAST_WIDTH = 4;

/** At the edge behind which a span lies that is not shown. */
const Away = ({ isBefore }: { isBefore: boolean }) => (
  <path class="fall-away" d={isBefore ? "M0 5 10 1V9Z" : `M${BAR} 5 ${BAR - 10} 1V9Z`} />
);

const Bar = ({ span, kind, shown }: { span: Window; kind: Phase | "own"; shown: Window }) => {
  const place = placeIn(shown, span);
  return (
    <svg class="fall-bar" viewBox={`0 0 ${BAR} 10`} preserveAspectRatio="none" aria-hidden="true">
      {place === null ? (
        <Away isBefore={span.to < shown.from} />
      ) : (
        <rect
          class={`phase-${kind}`}
          x={Math.min(place.at * BAR, BAR - LEAST_WIDTH)}
          width={Math.max(place.width * BAR, LEAST_WIDTH)}
          height="10"
        />
      )}
    </svg>
  );
};

const Row = ({ name, kind, span, shown }: { name: string; kind: Phase | "own"; span: Window; shown: Window }) => (
  <li class={kind === "own" ? "fall fall-own" : "fall"}>
    <span class="fall-name">{name}</span>
    <Bar span={span} kind={kind} shown={shown} />
    <span class="fall-took num">{duration(span.to - span.from)}</span>
  </li>
);

export interface OwnSpan extends Window {
  readonly name: string;
}

export const Waterfall = ({
  spans,
  own = [],
  shown,
}: {
  spans: readonly Span[];
  /** What the worker itself said that it did. */
  own?: readonly OwnSpan[];
  shown: Window;
}) => (
  <ul class="falls">
    {spans.map((span) => (
      <Row key={span.phase} name={PHASE_NAMES[span.phase]} kind={span.phase} span={span} shown={shown} />
    ))}
    {own.map((span, index) => (
      <Row key={`${index} ${span.name}`} name={span.name} kind="own" span={span} shown={shown} />
    ))}
  </ul>
);

const tickText = (ms: number): string => (ms < 1 ? "0" : duration(ms));

export const WaterfallAxis = ({ shown, whole }: { shown: Window; whole: Window }) => (
  <p class="fall-axis num" aria-hidden="true">
    {ticksOf(shown, whole).map((ms, index) => (
      <span key={index}>{tickText(ms)}</span>
    ))}
  </p>
);
