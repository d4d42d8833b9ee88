// What a key may ask for, beside its role. Every limit is null where there is none.

export interface KeyLimits {
  readonly requestsPerMinute: number | null;
  /** Open jobs at a time. */
  readonly concurrent: number | null;
  readonly dayNanoUsd: number | null;
  readonly monthNanoUsd: number | null;
  /** Names that it may use; `*` stands for any characters. */
  readonly models: readonly string[] | null;
}

/** Requests are counted in windows of a minute, which begin with a request. */
export interface RequestWindow {
  readonly startedAt: number;
  readonly count: number;
}

const WINDOW_MS = 60_000;

export const windowAt = (known: RequestWindow | null, nowAt: number): RequestWindow =>
  known !== null && nowAt - known.startedAt < WINDOW_MS ? known : { startedAt: nowAt, count: 0 };

export const mayUseModel = (patterns: readonly string[], model: string): boolean =>
  patterns.some((pattern) => matches(pattern, model));

/** Without a regular expression: a pattern is a stranger's. Each piece between stars is found after the one before it. */
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
