// Looks up words that come from outside. A plain object has entries of its own that nobody wrote, such as `constructor`.

export const entryOf = <T>(table: Readonly<Record<string, T>>, word: string): T | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined;
