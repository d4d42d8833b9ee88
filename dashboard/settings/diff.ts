// The difference between two texts, line by line: the longest common subsequence of lines stays.

export interface DiffLine {
  readonly kind: "same" | "out" | "in" | "gap";
  readonly text: string;
}

const CONTEXT = 3;
/** Above this the middle is shown as replaced, because the table would be too large. */
const MAX_CELLS = 4_000_000;

const middleOf = (before: readonly string[], after: readonly string[]): DiffLine[] => {
  const out = (text: string): DiffLine => ({ kind: "out", text });
  const into = (text: string): DiffLine => ({ kind: "in", text });
  if (before.length * after.length > MAX_CELLS) return [...before.map(out), ...after.map(into)];
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  const length = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = after.length - 1; column >= 0; column -= 1) {
      const isSame = before[row] === after[column];
      lengths[row * width + column] = isSame
        ? length(row + 1, column + 1) + 1
        : Math.max(length(row + 1, column), length(row, column + 1));
    }
  }
  const lines: DiffLine[] = [];
  let row = 0;
  let column = 0;
  while (row < before.length || column < after.length) {
    const [left, right] = [before[row], after[column]];
    if (left !== undefined && left === right) {
      lines.push({ kind: "same", text: left });
      row += 1;
      column += 1;
    } else if (left !== undefined && (right === undefined || length(row + 1, column) >= length(row, column + 1))) {
      lines.push(out(left));
      row += 1;
    } else {
      lines.push(into(right ?? ""));
      column += 1;
    }
  }
  return lines;
};

export const diffLines = (before: string, after: string): DiffLine[] => {
  const [left, right] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < Math.min(left.length, right.length) && left[start] === right[start]) start += 1;
  let end = 0;
  const room = Math.min(left.length, right.length) - start;
  while (end < room && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1;
  const same = (texts: readonly string[]): DiffLine[] => texts.map((text) => ({ kind: "same", text }));
  return [
    ...same(left.slice(0, start)),
    ...middleOf(left.slice(start, left.length - end), right.slice(start, right.length - end)),
    ...same(left.slice(left.length - end)),
  ];
};

/** Only the changes, with a few lines around them. */
export const shortDiff = (lines: readonly DiffLine[]): DiffLine[] => {
  const isNear = lines.map((_, at) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ kind }) => kind !== "same"),
  );
  const shown: DiffLine[] = [];
  lines.forEach((line, at) => {
    if (isNear[at]) shown.push(line);
    else if (shown.at(-1)?.kind !== "gap") shown.push({ kind: "gap", text: "⋯" });
  });
  return shown;
};
