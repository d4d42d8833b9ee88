// An attempt's phases as a bar, and what its colours mean.

import { inWords, PHASES, type Span } from "./attempt-spans.ts";

const BAR = 1000;
const LEAST_WIDTH = 4;

/** On the scale of `from` to `to`, so that the bars of several attempts compare. */
export const AttemptBar = ({ spans, from, to }: { spans: readonly Span[]; from: number; to: number }) => {
  const at = (instant: number): number => ((instant - from) / Math.max(1, to - from)) * BAR;
  return (
    <svg
      class="attempt-bar"
      viewBox={`0 0 ${BAR} 12`}
      preserveAspectRatio="none"
      role="img"
      aria-label={inWords(spans)}
    >
      {spans
        .filter((span) => span.to > span.from)
        .map((span) => (
          <rect
            key={span.phase}
            class={`phase-${span.phase}`}
            x={Math.min(at(span.from), BAR - LEAST_WIDTH)}
            width={Math.max(at(span.to) - at(span.from), LEAST_WIDTH)}
            height="12"
          />
        ))}
    </svg>
  );
};

export const PhaseLegend = () => (
  <ul class="plot-legend" aria-hidden="true">
    {PHASES.map((phase) => (
      <li key={phase}>
        <span class={`swatch swatch-${phase}`} />
        {phase}
      </li>
    ))}
  </ul>
);
