/**
 * How long a test waits for what comes by itself: long enough for a busy machine. What never comes fails its test after
 * this time, and nothing passes by it that would fail otherwise.
 */
export const PATIENCE = { timeout: 25_000 };
