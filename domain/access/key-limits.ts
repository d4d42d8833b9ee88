// The limits of a key, besides its role; null means no limit.

import { fitsPattern } from "../words/star-pattern.ts";

export interface KeyLimits {
  readonly requestsPerMinute: number | null;
  /** Jobs open at the same time. */
  readonly concurrent: number | null;
  readonly dayNanoUsd: number | null;
  readonly monthNanoUsd: number | null;
  /** Models that it may use; `*` matches any characters. */
  readonly models: readonly string[] | null;
  /** false: its jobs do not go to a provider that the coordinator calls itself; missing in older records. */
  readonly edge?: boolean | null;
}

/** Requests are counted in windows of a minute, which begin with a request; a clock that was set back begins another. */
export interface RequestWindow {
  readonly startedAt: number;
  readonly count: number;
}

export const WINDOW_MS = 60_000;

export const windowAt = (known: RequestWindow | null, nowAt: number): RequestWindow => {
  const isCurrent = known !== null && known.startedAt <= nowAt && nowAt - known.startedAt < WINDOW_MS;
  return isCurrent ? known : { startedAt: nowAt, count: 0 };
};

export const mayUseModel = (patterns: readonly string[], model: string): boolean =>
  patterns.some((pattern) => fitsPattern(pattern, model));
