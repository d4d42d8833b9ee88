// A server of llama.cpp that loads its model lists it already, and refuses every request until it is done. A job that
// comes then is given back unworked, and the worker is unavailable meanwhile.

import type { Outcome } from "../calls/runtime.ts";

const SAYS_LOADING = /\bloading model\b/i;

export const saysLoading = (status: number | undefined, text: string): boolean =>
  status === 503 && SAYS_LOADING.test(text);

export class StillLoading extends Error {}

/** The runtime received a job and did nothing of it. */
export const unworkedWhileLoading = (outcome: Outcome): Outcome =>
  !outcome.ok && saysLoading(outcome.error.status, outcome.error.message)
    ? { ...outcome, neverReached: true }
    : outcome;
