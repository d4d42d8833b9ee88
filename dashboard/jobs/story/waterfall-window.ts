// The part of a job's time that its waterfall shows. Pure.

import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../contract/words/values.ts";

export interface Window {
  readonly from: number;
  readonly to: number;
}

const LEAST_MS = 4;
/** Shown before and after what a zoom is about. */
const MARGIN = 0.05;
/** A part that fills this much of the whole is no closer look. */
const NEARLY_WHOLE = 0.8;

const widthOf = ({ from, to }: Window): number => to - from;

const within = (whole: Window, from: number, width: number): Window => {
  const start = Math.min(Math.max(from, whole.from), Math.max(whole.from, whole.to - width));
  return { from: start, to: Math.min(start + width, whole.to) };
};

/** The first time to what it is about, without the wait before it; then to the middle half. */
export const closer = (shown: Window | null, whole: Window, about: Window): Window => {
  const wide = Math.max(LEAST_MS, widthOf(about) * (1 + 2 * MARGIN));
  if (shown === null && wide < widthOf(whole) * NEARLY_WHOLE)
    return within(whole, about.from - widthOf(about) * MARGIN, wide);
  const now = shown ?? whole;
  const half = Math.max(LEAST_MS, widthOf(now) / 2);
  return within(whole, (now.from + now.to) / 2 - half / 2, half);
};

/** Half a width earlier (-1) or later (1). */
export const moved = (shown: Window, whole: Window, way: -1 | 1): Window =>
  within(whole, shown.from + (way * widthOf(shown)) / 2, widthOf(shown));

/** Fractions of the window's width; null for what is not in it. */
export const placeIn = ({ from, to }: Window, span: Window): { at: number; width: number } | null => {
  const width = Math.max(1, to - from);
  const start = Math.max(span.from, from);
  const end = Math.min(span.to, to);
  return end < start ? null : { at: (start - from) / width, width: (end - start) / width };
};

const TENS = [1, 2, 5, 10, 20, 50, 100, 200, 500];
/** What a reader counts in. */
const STEPS_MS = [
  ...TENS,
  ...[1, 2, 5, 10, 20, 30].map((count) => count * SECOND_MS),
  ...[1, 2, 5, 10, 20, 30].map((count) => count * MINUTE_MS),
  ...[1, 2, 4, 12, 24].map((count) => count * HOUR_MS),
  ...TENS.map((count) => count * 48 * HOUR_MS),
];
const MOST_STEPS = 5;

interface Tick {
  /** Since the whole began. */
  readonly ms: number;
  /** A fraction of the window's width. */
  readonly at: number;
}

/** Round instants of the axis. */
export const ticksOf = (shown: Window, whole: Window): readonly Tick[] => {
  const width = Math.max(1, widthOf(shown));
  const step = STEPS_MS.find((one) => width / one <= MOST_STEPS) ?? width;
  const begin = shown.from - whole.from;
  const first = Math.ceil(begin / step);
  const count = Math.floor((begin + width) / step) - first + 1;
  return Array.from({ length: count }, (_, index) => {
    const ms = (first + index) * step;
    return { ms, at: (ms - begin) / width };
  });
};
