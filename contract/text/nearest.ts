// The known name nearest to a mistyped or shortened one, for "did you mean".

/** More than a third of other letters is another word: "overview" is not a misspelt "version". */
const MAX_DISTANCE_SHARE = 1 / 3;
/** Fewer letters begin too many names. */
const MIN_BEGINNING = 3;

export const nearestOf = (given: string, known: readonly string[]): string | null => {
  const typed = given.toLowerCase();
  const mostOff = Math.max(2, typed.length * MAX_DISTANCE_SHARE);
  let best: { name: string; distance: number } | null = null;
  for (const name of known) {
    const meant = name.toLowerCase();
    // Of two that are as near, it is the name that begins as typed: "of" is "off", not "on".
    const distance = editDistance(typed, meant) - (meant.startsWith(typed) ? 0.5 : 0);
    if (distance > mostOff && !isBeginning(typed, meant)) continue;
    if (best === null || distance < best.distance) best = { name, distance };
  }
  return best?.name ?? null;
};

/** `timeout` of `timeout_seconds`, or `model_name` for `model`. */
const isBeginning = (typed: string, meant: string): boolean =>
  Math.min(typed.length, meant.length) >= MIN_BEGINNING && (meant.startsWith(typed) || typed.startsWith(meant));

/** Levenshtein distance, one row at a time; both words are short. */
const editDistance = (from: string, to: string): number => {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
};
