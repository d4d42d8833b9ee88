// How values spread, kept as counts in buckets that grow by a fifth: mergeable, and a quantile is off by at most 10 %.

/** Buckets by number; bucket n holds the values above GROWTH^(n-1), up to GROWTH^n. */
export type Spread = Map<number, number>;

const GROWTH = 1.2;
const LOG_GROWTH = Math.log(GROWTH);
/** Values below are as good as none: a hundredth of a millisecond, or of a token a second. */
const SMALLEST = 0.01;
const LOWEST_BUCKET = Math.ceil(Math.log(SMALLEST) / LOG_GROWTH);

export const observe = (spread: Spread, value: number): void => {
  const bucket = value <= SMALLEST ? LOWEST_BUCKET : Math.ceil(Math.log(value) / LOG_GROWTH);
  spread.set(bucket, (spread.get(bucket) ?? 0) + 1);
};

export const merge = (into: Spread, from: Spread): void => {
  for (const [bucket, count] of from) into.set(bucket, (into.get(bucket) ?? 0) + count);
};

export const countOf = (spread: Spread): number => [...spread.values()].reduce((sum, count) => sum + count, 0);

/** The middle of the bucket that holds the value; null if there is none. */
export const quantile = (spread: Spread, share: number): number | null => {
  const count = countOf(spread);
  if (count === 0) return null;
  const rank = Math.max(1, Math.ceil(share * count));
  let seen = 0;
  for (const bucket of [...spread.keys()].sort((one, other) => one - other)) {
    seen += spread.get(bucket) ?? 0;
    if (seen >= rank) return bucket === LOWEST_BUCKET ? 0 : GROWTH ** (bucket - 0.5);
  }
  return null;
};
