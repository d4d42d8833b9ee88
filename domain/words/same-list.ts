/** Whether both have the same texts in the same order. */
export const isSameList = (one: readonly string[], other: readonly string[]): boolean =>
  one === other || (one.length === other.length && one.every((value, index) => value === other[index]));
