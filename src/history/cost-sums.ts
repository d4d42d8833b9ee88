// What the cost tables sum up, and how sums are added.

import type { UsageResource } from "../../contract/jobs/usage.ts";
import { usdFromNano } from "../../domain/money/price.ts";

const TOKENS = ["input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens"] as const;
const COLUMNS = ["nano_usd", "jobs", "unpriced_jobs", ...TOKENS] as const;

type Column = (typeof COLUMNS)[number];
export type Sums = Readonly<Record<Column, number>>;

export const SUM_COLUMNS = COLUMNS.map((column) => `SUM(${column}) AS ${column}`).join(", ");

const numbersOf = <Name extends string>(names: readonly Name[], of: (name: Name) => number): Record<Name, number> =>
  Object.fromEntries(names.map((name) => [name, of(name)])) as Record<Name, number>;

export const NOTHING: Sums = numbersOf(COLUMNS, () => 0);

export const total = (rows: readonly Sums[]): Sums =>
  rows.reduce((one, other) => numbersOf(COLUMNS, (column) => one[column] + other[column]), NOTHING);

export const difference = (whole: Sums, part: Sums): Sums =>
  numbersOf(COLUMNS, (column) => whole[column] - part[column]);

export const isNothing = (sums: Sums): boolean => COLUMNS.every((column) => sums[column] === 0);

export const mostFirst = (one: Sums, other: Sums): number => other.nano_usd - one.nano_usd || other.jobs - one.jobs;

export const presentSums = (
  sums: Sums,
): { usd: number; jobs: number; unpriced_jobs: number; usage: UsageResource } => ({
  usd: usdFromNano(sums.nano_usd),
  jobs: sums.jobs,
  unpriced_jobs: sums.unpriced_jobs,
  usage: numbersOf(TOKENS, (name) => sums[name]),
});
