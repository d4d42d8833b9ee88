// Long lists are answered in portions: other tenants of the process wait while one is read and written.

const MAX_PORTION_CHARS = 500_000;

export interface Portion<Row> {
  readonly rows: Row[];
  /** The names of those that are to be asked for. */
  readonly rest: readonly string[];
}

/** The first of those named, as many as fit, and no more than `most`. What is gone is left out. */
export const portionOf = <Row>(
  names: readonly string[],
  read: (name: string) => Row | null,
  most = Number.POSITIVE_INFINITY,
): Portion<Row> => {
  const rows: Row[] = [];
  let [taken, chars] = [0, 0];
  for (; taken < Math.min(names.length, most) && chars < MAX_PORTION_CHARS; taken += 1) {
    const row = read(names[taken] ?? "");
    if (row === null) continue;
    rows.push(row);
    chars += JSON.stringify(row).length;
  }
  return { rows, rest: names.slice(taken) };
};
