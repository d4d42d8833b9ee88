// The limits of a key, besides its role, and of each person that it is used for; null means no limit.

import { modelKeyOf } from "../words/model-key.ts";
import { fitsPattern } from "../words/star-pattern.ts";

/** What may be used within a time. */
export interface UseLimits {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  /** Jobs open at the same time. */
  readonly concurrent: number | null;
  readonly dayNanoUsd: number | null;
}

export interface KeyLimits extends UseLimits {
  readonly monthNanoUsd: number | null;
  /** Jobs that wait at the same time. */
  readonly maxWaiting: number | null;
  /** Of each person that its requests name. */
  readonly perUser: UseLimits | null;
  /** Models that it may use; `*` matches any characters. */
  readonly models: readonly string[] | null;
  /** false: its jobs do not go to a provider that the coordinator calls itself. */
  readonly edge: boolean | null;
}

/**
 * Requests and their tokens are counted in windows of a minute, which begin with a request; a clock that was set back
 * begins another. Tokens are reserved with the request, and corrected when the job has told what it took.
 */
export interface UseWindow {
  readonly startedAt: number;
  readonly count: number;
  readonly tokens: number;
}

export const WINDOW_MS = 60_000;

export const windowAt = (known: UseWindow | null, nowAt: number): UseWindow => {
  const isCurrent = known !== null && known.startedAt <= nowAt && nowAt - known.startedAt < WINDOW_MS;
  return isCurrent ? known : { startedAt: nowAt, count: 0, tokens: 0 };
};

/** What is left of a limit a minute. */
export interface Left {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
}

/** What is asked for at once. */
export interface Demand {
  readonly count: number;
  readonly tokens: number;
}

/** A request of any size is let through by a window of which nothing is used. */
export const fitsTokens = (limit: number, { tokens }: UseWindow, demand: Demand): boolean =>
  tokens === 0 ? demand.count <= 1 || demand.tokens <= limit : tokens + demand.tokens <= limit;

/** The window after a job took `used` tokens for which `reserved` were counted when it was created. */
export const settleTokens = (
  window: UseWindow,
  { createdAt }: { readonly createdAt: number },
  reserved: number,
  used: number,
): UseWindow => {
  // What was reserved in an earlier window is over with it.
  const change = createdAt >= window.startedAt ? used - reserved : Math.max(0, used - reserved);
  return { ...window, tokens: Math.max(0, window.tokens + change) };
};

/** The names under which use is counted: a key's own is its id, which has no other characters than letters and digits. */
export const waitingOf = (keyId: string): string => `${keyId} waiting`;
export const userOf = (keyId: string, user: string): string => `${keyId}/${user}`;

/** `llama3.2:latest` is `llama3.2`: a pattern may leave the tag out, and so may who asks for a model. */
export const mayUseModel = (patterns: readonly string[], model: string): boolean => {
  const key = modelKeyOf(model);
  const isMeant = (pattern: string): boolean =>
    modelKeyOf(pattern) === key || fitsPattern(pattern, model) || fitsPattern(pattern, key);
  return patterns.some(isMeant);
};
