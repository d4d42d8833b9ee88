// Tries changes, one after the other, against a set of tests.

import type { Change } from "./change.ts";
import { Trier } from "./trier.ts";

/** The changes that no test of these files notices. `tell` hears by what each was. */
export const survivorsOf = async (
  changes: readonly Change[],
  testFiles: readonly string[],
  tell: (change: Change, by: string | null) => void,
): Promise<Change[]> => {
  const [first] = changes;
  if (first === undefined) return [];
  const trier = new Trier(testFiles);
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
