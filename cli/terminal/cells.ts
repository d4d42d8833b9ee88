// Tables of text: how a value becomes a cell, and cells become lines. No text of others keeps control characters.

import { printable } from "../../contract/text/printable.ts";
import { cut, padded, widthOf } from "./text-width.ts";
import { When } from "./when.ts";

export interface Column<Row> {
  readonly title: string;
  readonly of: (row: Row) => unknown;
  /** Of the last column: a long text goes on below instead of being cut. */
  readonly wraps?: boolean;
}

export const COLUMN_GAP = "  ";
const LEAST_LAST_COLUMN = 12;

export const asCell = (value: unknown, isTerminal: boolean): string => {
  if (value === null || value === undefined) return "";
  if (value instanceof When) return printable(isTerminal ? value.toWords(Date.now()) : value.at);
  if (Array.isArray(value)) return value.map((one) => asCell(one, isTerminal)).join(",");
  return printable(typeof value === "object" ? JSON.stringify(value) : String(value));
};

/** Broken at spaces, each further line below the first. */
const wrapped = (text: string, width: number, indent: number): string => {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line === undefined || widthOf(line) + 1 + widthOf(word) > width) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines.join(`\n${" ".repeat(indent)}`);
};

export const cellsOf = <Row>(rows: readonly Row[], columns: readonly Column<Row>[], isTerminal: boolean): string[][] =>
  rows.map((row) => columns.map((column) => asCell(column.of(row), isTerminal)));

/** The titles, then the rows; the last column takes what the others leave of the width. */
export const tableLines = <Row>(rows: readonly Row[], columns: readonly Column<Row>[], width: number): string[] => {
  const cells = cellsOf(rows, columns, true);
  const titles = columns.map(({ title }) => title.toUpperCase());
  const widths = titles
    .slice(0, -1)
    .map((title, at) => cells.reduce((most, line) => Math.max(most, widthOf(line[at] ?? "")), title.length));
  const before = widths.reduce((sum, one) => sum + one + COLUMN_GAP.length, 0);
  const last = Math.max(LEAST_LAST_COLUMN, width - before);
  const fitted = (cell: string): string =>
    columns.at(-1)?.wraps === true ? wrapped(cell, last, before) : cut(cell, last);
  const lineOf = (line: readonly string[]): string =>
    line
      .map((cell, at) => (at < line.length - 1 ? padded(cell, widths[at] ?? 0) : fitted(cell)))
      .join(COLUMN_GAP)
      .trimEnd();
  return [titles, ...cells].map(lineOf);
};
