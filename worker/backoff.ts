// Full-jitter back-off: anywhere between nothing and a ceiling that doubles, so that a fleet which lost its coordinator
// in one moment does not come back in one moment.

const BASE_MS = 500;
const CEILING_MS = 30_000;

/** @param failures how many tries failed in a row, 0 for the first wait. @param random in [0, 1). */
export function backoffMs(failures: number, random: number): number {
  return Math.round(random * Math.min(CEILING_MS, BASE_MS * 2 ** Math.min(failures, 16)));
}
