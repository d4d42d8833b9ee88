// Delays that grow, with jitter. Randomness is an argument in [0, 1).

const MAX_DELAY_MS = 15 * 60_000;
const MAX_DOUBLINGS = 20;

const doubled = (ms: number, times: number): number => ms * 2 ** Math.min(times, MAX_DOUBLINGS);

/**
 * How long a rate-limited job waits, in ms: the configured delay doubled with each retry, up to a quarter of jitter
 * on top, and never shorter than what is configured or what the provider asked for.
 */
export const rateLimitDelayMs = (
  retriesBefore: number,
  baseMs: number,
  askedMs: number | null,
  jitter: number,
): number => {
  const grown = Math.min(doubled(baseMs, retriesBefore), Math.max(baseMs, MAX_DELAY_MS));
  return Math.ceil(Math.max(grown, askedMs ?? 0) * (1 + jitter / 4));
};

/**
 * How long a job waits for its next attempt, in ms: the base doubled with each attempt that failed, up to a quarter of
 * jitter on top, never longer than `maxMs`.
 */
export const attemptDelayMs = (attempts: number, baseMs: number, maxMs: number, jitter: number): number =>
  Math.ceil(Math.min(maxMs, doubled(baseMs, Math.max(0, attempts - 1)) * (1 + jitter / 4)));

/** Half jitter for our own retries (history store, reconnects), in ms: between half the grown delay and all of it. */
export const retryDelayMs = (failures: number, baseMs: number, maxMs: number, jitter: number): number =>
  Math.ceil(Math.min(maxMs, doubled(baseMs, failures)) * (0.5 + jitter / 2));

const MAX_RELEASE_DELAY_MS = 60_000;

/**
 * The first release goes to the next worker at once; further ones wait, so that a job does not circulate among workers.
 */
export const releaseDelayMs = (releases: number): number =>
  releases <= 1 ? 0 : Math.min(MAX_RELEASE_DELAY_MS, doubled(1_000, releases - 2));
