// What a command prints: data on stdout, messages on stderr. Data is a table on a terminal, tab-separated elsewhere,
// JSON with --json. Text from a server never reaches a terminal as a control sequence.

import { When } from "./when.ts";

export interface Column<Row> {
  readonly title: string;
  readonly of: (row: Row) => unknown;
  /** Of the last column: a long text goes on below instead of being cut. */
  readonly wraps?: boolean;
}

export interface Sink {
  readonly write: (text: string) => void;
  readonly isTerminal: boolean;
  readonly columns?: number | undefined;
}

export interface OutputOptions {
  readonly out: Sink;
  readonly err: Sink;
  readonly isJson: boolean;
  readonly hasColour: boolean;
}

const COLUMN_GAP = "  ";
const BOLD = "\u001b[1m";
const PLAIN = "\u001b[0m";
const CLEAR_LINE = "\u001b[K";
const NARROW = 80;
const LEAST_LAST_COLUMN = 12;

/** On one line, without control characters: a prompt or a worker's name could otherwise rewrite the terminal. */
export const printable = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ");

/** The same for text of several lines: its line breaks and tabs stay. */
const printableLines = (text: string): string => text.replaceAll(/\r\n?/g, "\n").replaceAll(/[^\P{Cc}\n\t]+/gu, " ");

/** JSON escapes only the first of the two blocks of control characters; terminals obey both. */
const asJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replaceAll(
    /[\u007f-\u009f\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

const asCell = (value: unknown, isTerminal: boolean): string => {
  if (value === null || value === undefined) return "";
  if (value instanceof When) return printable(isTerminal ? value.toWords(Date.now()) : value.at);
  if (Array.isArray(value)) return value.map((one) => asCell(one, isTerminal)).join(",");
  return printable(typeof value === "object" ? JSON.stringify(value) : String(value));
};

const cut = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;

/** Broken at spaces, each further line below the first. */
const wrapped = (text: string, width: number, indent: number): string => {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines.join(`\n${" ".repeat(indent)}`);
};

export class Output {
  readonly #options: OutputOptions;

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  get isJson(): boolean {
    return this.#options.isJson;
  }

  /** Whether a person reads it now: not a pipe, not JSON. */
  get isForPeople(): boolean {
    return this.#options.out.isTerminal && !this.isJson;
  }

  /** Messages about progress, never data. */
  say(words: string): void {
    this.#options.err.write(`${printableLines(words)}\n`);
  }

  /** Progress that changes: on a terminal one line, which each call writes again and `isLast` ends. */
  progress(words: string, isLast = false): void {
    const { err } = this.#options;
    if (!err.isTerminal) this.say(words);
    else err.write(`\r${CLEAR_LINE}${cut(printable(words), (err.columns ?? NARROW) - 1)}${isLast ? "\n" : ""}`);
  }

  /** One value; `text` is the form for people. */
  value(value: unknown, text: string): void {
    this.#show(this.#options.isJson ? `${asJson(value, 2)}\n` : withEnd(text));
  }

  /** One of many values that arrive over time: one line each, also as JSON. */
  line(value: unknown, text: string): void {
    this.#show(this.#options.isJson ? `${asJson(value)}\n` : withEnd(text));
  }

  /** Text as it arrives, without a line end. */
  raw(text: string): void {
    this.#show(text);
  }

  /** A pipe or a file gets the data as it is. */
  #show(text: string): void {
    const { out } = this.#options;
    out.write(out.isTerminal ? printableLines(text) : text);
  }

  /** `whole` is what --json prints: the whole answer, not only its rows. */
  table<Row>(whole: unknown, rows: readonly Row[], columns: readonly Column<Row>[]): void {
    const { out, isJson } = this.#options;
    const cells = rows.map((row) => columns.map((column) => asCell(column.of(row), out.isTerminal)));
    const titles = columns.map(({ title }) => title.toUpperCase());
    if (isJson) this.value(whole, "");
    else if (!out.isTerminal) out.write(cells.map((line) => `${line.join("\t")}\n`).join(""));
    else if (rows.length === 0) this.say("Nothing.");
    else out.write(this.#aligned(cells, titles, columns.at(-1)?.wraps === true));
  }

  /** Says that a table is only the newest part of a list. */
  cutOff(shown: number, total: number, hint = ""): void {
    if (shown < total) this.say(`The newest ${shown} of ${total}${hint}.`);
  }

  /** A record, one field per line; on a terminal a text keeps its lines. */
  record(value: object, fields: readonly (readonly [title: string, value: unknown])[]): void {
    const shown = fields.filter(([, field]) => field !== null && field !== undefined && field !== "");
    const width = Math.max(0, ...shown.map(([title]) => title.length)) + COLUMN_GAP.length;
    const { isTerminal } = this.#options.out;
    const lineOf = (title: string, field: unknown): string => {
      if (!isTerminal) return `${title}\t${asCell(field, false)}\n`;
      const lines = typeof field === "string" ? printableLines(field).trimEnd().split("\n") : [asCell(field, true)];
      return `${title.padEnd(width)}${lines.join(`\n${" ".repeat(width)}`)}\n`;
    };
    this.value(value, shown.map(([title, field]) => lineOf(title, field)).join(""));
  }

  #aligned(cells: readonly string[][], titles: readonly string[], wraps: boolean): string {
    const { out, hasColour } = this.#options;
    const widths = titles.map((title, at) => Math.max(title.length, ...cells.map((line) => line[at]?.length ?? 0)));
    const before = widths.slice(0, -1).reduce((sum, width) => sum + width + COLUMN_GAP.length, 0);
    const last = Math.max(LEAST_LAST_COLUMN, (out.columns ?? NARROW) - before);
    const lineOf = (line: readonly string[]): string =>
      line
        .map((cell, at) =>
          at < line.length - 1 ? cell.padEnd(widths[at] ?? 0) : wraps ? wrapped(cell, last, before) : cut(cell, last),
        )
        .join(COLUMN_GAP)
        .trimEnd();
    const head = hasColour ? `${BOLD}${lineOf(titles)}${PLAIN}` : lineOf(titles);
    return `${[head, ...cells.map(lineOf)].join("\n")}\n`;
  }
}

const withEnd = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
