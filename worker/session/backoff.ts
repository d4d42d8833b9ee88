// Full-jitter back-off: a random wait up to a ceiling that doubles, so that workers which lost their coordinator at the
// same moment do not all reconnect at the same moment.

const BASE_MS = 500;
const CEILING_MS = 30_000;

/** @param failures how many tries failed in a row, 0 for the first wait. @param random in [0, 1). */
export const backoffMs = (failures: number, random: number): number =>
  Math.round(random * Math.min(CEILING_MS, BASE_MS * 2 ** Math.min(failures, 16)));
