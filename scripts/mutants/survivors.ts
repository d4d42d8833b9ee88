// Tries changes, one after the other, against a set of tests.

import type { Change } from "./scan.ts";
import { Trier } from "./trier.ts";

/** The changes that no test of these files notices, of those that take no longer. `tell` hears by what each was. */
export const survivorsOf = async (
  changes: readonly Change[],
  testFiles: readonly string[],
  tell: (change: Change, by: string | null) => void,
  slowestMs = Number.POSITIVE_INFINITY,
): Promise<Change[]> => {
  const [first] = changes;
  if (first === undefined) return [];
  const trier = new Trier(testFiles, slowestMs);
  try {
    await trier.measure(changes);
    const survivors: Change[] = [];
    for (const [place, change] of changes.entries()) {
      const by = await trier.noticedBy(place, change);
      tell(change, by);
      if (by === null) survivors.push(change);
    }
    return survivors;
  } finally {
    await trier.stop();
  }
};
