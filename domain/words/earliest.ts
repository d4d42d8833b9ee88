/** The earliest of some instants; null stands for never. */
export const earliest = (instants: Iterable<number | null>): number | null => {
  let found: number | null = null;
  for (const at of instants) if (at !== null && (found === null || at < found)) found = at;
  return found;
};
