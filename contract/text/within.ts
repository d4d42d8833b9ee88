// A wait with an end.

/** What `work` resolves to; null if it takes longer than `ms`. The work continues. */
export const within = <T>(work: Promise<T>, ms: number): Promise<T | null> => {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), ms);
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
};
