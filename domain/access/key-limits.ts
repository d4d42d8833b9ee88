// The limits of a key, besides its role; null means no limit.

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
  patterns.some((pattern) => matches(pattern, model));

/**
 * Without a regular expression, because patterns are user input. Finds each piece between stars after the previous one.
 */
const matches = (pattern: string, text: string): boolean => {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return pattern === text;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
};
