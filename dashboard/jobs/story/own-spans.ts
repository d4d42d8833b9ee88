// A worker may say in its progress what it did, step by step: `{"spans": [{"name", "started_at", "finished_at"}]}`. What
// is not of this form is left out.

import type { OwnSpan } from "./waterfall.tsx";

const MAX_SHOWN = 20;

type Said = Readonly<Record<string, unknown>>;

const isSaid = (value: unknown): value is Said => typeof value === "object" && value !== null;

const instantIn = (value: unknown): number | null => {
  const at = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : at;
};

const spanOf = ({ name, started_at, finished_at }: Said, nowAt: number): OwnSpan[] => {
  const from = instantIn(started_at);
  if (typeof name !== "string" || from === null) return [];
  return [{ name, from, to: Math.max(from, instantIn(finished_at) ?? nowAt) }];
};

export const ownSpans = (progress: unknown, nowAt: number): readonly OwnSpan[] => {
  const said = isSaid(progress) && Array.isArray(progress.spans) ? progress.spans : [];
  return said
    .slice(0, MAX_SHOWN)
    .filter(isSaid)
    .flatMap((one) => spanOf(one, nowAt));
};
