// A score as a stacked bar: each part in its colour, as long as its points. Also as text for screen readers.

import { SCORE_PARTS, type ScorePart } from "../../contract/words/values.ts";

const LABELS: Record<ScorePart, string> = {
  capacity: "free capacity",
  tag_fit: "tag fit",
  model_loaded: "model loaded",
  success: "recent success",
  freshness: "freshness",
  cost: "cost",
  tier: "tier",
};

export const partLabel = (part: string): string => LABELS[part as ScorePart] ?? part.replaceAll("_", " ");

export const partColour = (part: string): string => `var(--part-${part})`;

interface Scored {
  breakdown: Record<string, number>;
  weights: Record<string, number>;
  score: number | null;
}

const pointsOf = ({ breakdown, weights }: Scored): [part: string, points: number, of: number][] =>
  Object.entries(breakdown).map(([part, share]) => [part, share * (weights[part] ?? 0), weights[part] ?? 0]);

export const ScoreBar = (scored: Scored) => {
  const parts = pointsOf(scored).sort(([one], [other]) => orderOf(one) - orderOf(other));
  const inWords = parts
    .map(([part, points, of]) => `${partLabel(part)} ${points.toFixed(1)} of ${of.toFixed(1)}`)
    .join(", ");
  let start = 0;
  return (
    <svg
      class="score-bar"
      viewBox="0 0 1000 14"
      preserveAspectRatio="none"
      role="img"
      aria-label={`Score ${scored.score?.toFixed(1) ?? "none"}: ${inWords}`}
    >
      {parts.map(([part, points, of]) => {
        const x = start * 10;
        start += points;
        return (
          <rect key={part} style={{ fill: partColour(part) }} x={x} width={Math.max(0, points * 10 - 1.5)} height="14">
            <title>{`${partLabel(part)}: ${points.toFixed(1)} of ${of.toFixed(1)} points`}</title>
          </rect>
        );
      })}
    </svg>
  );
};

const orderOf = (part: string): number => {
  const at = (SCORE_PARTS as readonly string[]).indexOf(part);
  return at < 0 ? SCORE_PARTS.length : at;
};

export const ScoreLegend = ({ weights }: { weights: Record<string, number> }) => (
  <ul class="score-legend">
    {Object.entries(weights)
      .filter(([, weight]) => weight > 0)
      .sort(([one], [other]) => orderOf(one) - orderOf(other))
      .map(([part, weight]) => (
        <li key={part}>
          <svg viewBox="0 0 10 10" aria-hidden="true">
            <rect width="10" height="10" rx="2" style={{ fill: partColour(part) }} />
          </svg>
          {partLabel(part)} <span class="dim num">{weight.toFixed(0)}</span>
        </li>
      ))}
  </ul>
);
