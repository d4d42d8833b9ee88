// Tests of sums by the hour or the day: one that ran across a boundary would find its own work in two of them.

const NEAR_MS = 20_000;

/** Waits until the next boundary of such steps is not near. */
export const clearOf = async (stepMs: number): Promise<void> => {
  const leftMs = stepMs - (Date.now() % stepMs);
  if (leftMs < Math.min(NEAR_MS, stepMs / 2)) await new Promise((resolve) => setTimeout(resolve, leftMs));
};
