/** Counts the entries that pass, by bisection: in the list they come before all that do not. */
export const leadingCount = <Entry>(list: ArrayLike<Entry>, passes: (entry: Entry) => boolean): number => {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (passes(list[middle] as Entry)) low = middle + 1;
    else high = middle;
  }
  return low;
};
