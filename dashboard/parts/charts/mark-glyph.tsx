// The sign of an event on a time axis: each kind has a shape of its own, so that it is read without its colour.

import type { Mark } from "../../../contract/activity.ts";

export type MarkKind = Mark["kind"];

const SHAPES: Record<MarkKind, string> = {
  halt: "M1 1h10v10H1Z",
  clear: "M6 .5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 1 0 0-11Z",
  pause: "M1.5 1H5v10H1.5ZM7 1h3.5v10H7Z",
  resume: "M2 .5 11 6 2 11.5Z",
  config: "M6 0 12 6 6 12 0 6Z",
  budget: "M6 .5 12 11.5H0Z",
};

export const MarkGlyph = ({ kind, x = 0, size = 12 }: { kind: MarkKind; x?: number; size?: number }) => (
  <svg class={`mark-glyph mark-${kind}`} x={x} width={size} height={size} viewBox="0 0 12 12" aria-hidden="true">
    <path d={SHAPES[kind]} />
  </svg>
);
