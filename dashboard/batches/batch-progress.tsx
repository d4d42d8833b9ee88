// How far a batch is: a bar of its lines by what became of them, in words, too.

import type { BatchResource } from "../../contract/batch.ts";
import { count, wholePercent } from "../format.ts";

const PARTS = ["completed", "failed", "cancelled", "running"] as const;
type LinePart = (typeof PARTS)[number];

const endedLines = ({ completed, failed, cancelled }: BatchResource): number => completed + failed + cancelled;

/** Whole only when every line has ended. */
export const percentOf = (batch: BatchResource): number =>
  batch.total === 0 ? 0 : wholePercent(endedLines(batch) / batch.total);

/** Whole numbers, but for a slow batch. */
export const rateText = ({ lines_per_minute: rate }: BatchResource): string =>
  count(rate < 10 ? rate : Math.round(rate));

const inWords = (batch: BatchResource): string =>
  [...PARTS, "waiting" as const]
    .filter((part) => batch[part] > 0)
    .map((part) => `${count(batch[part])} ${part}`)
    .join(", ");

/** Where each part begins and how wide it is, in lines. */
const placed = (batch: BatchResource): { part: LinePart; from: number; width: number }[] => {
  let from = 0;
  return PARTS.map((part) => {
    const width = batch[part];
    const at = from;
    from += width;
    return { part, from: at, width };
  }).filter(({ width }) => width > 0);
};

export const BatchProgress = ({ batch }: { batch: BatchResource }) => (
  <svg
    class="batch-progress"
    viewBox={`0 0 ${Math.max(1, batch.total)} 10`}
    preserveAspectRatio="none"
    role="progressbar"
    aria-label={`Progress of ${batch.id}`}
    aria-valuemin={0}
    aria-valuemax={100}
    aria-valuenow={percentOf(batch)}
    aria-valuetext={`${percentOf(batch)} percent: ${inWords(batch) || "no lines yet"}`}
  >
    {placed(batch).map(({ part, from, width }) => (
      <rect key={part} class={`lines-${part}`} x={from} width={width} height="10" />
    ))}
  </svg>
);

export const BatchLegend = ({ batch }: { batch: BatchResource }) => (
  <ul class="plot-legend">
    {[...PARTS, "waiting" as const].map((part) => (
      <li key={part} class={batch[part] === 0 ? "dim" : ""}>
        <span class={`swatch lines-${part}`} />
        <span class="num">{count(batch[part])}</span> {part}
      </li>
    ))}
  </ul>
);
