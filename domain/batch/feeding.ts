// How many lines of a batch are open at a time: enough that no place waits for the next, few enough that a file of any
// length does not fill the tenant.

import type { BatchModel } from "./batch.ts";

export const LONGEST_WINDOW = 500;
const WINDOW = { shortest: 8, longest: LONGEST_WINDOW, aPlace: 4 };
/** Read from the file at a time. */
const MAX_FED = 100;

/** How many more lines of a model to make jobs of now; none while half of its window is open. */
export const linesToFeed = ({ total, fed, ended }: BatchModel, places: number): number => {
  const window = Math.min(WINDOW.longest, Math.max(WINDOW.shortest, WINDOW.aPlace * places));
  const open = fed - ended;
  return open > window / 2 ? 0 : Math.min(window - open, total - fed, MAX_FED);
};
