// What a command prints: data on stdout, messages on stderr. Data is a table on a terminal, tab-separated elsewhere,
// JSON with --json. Text from a server never reaches a terminal as a control sequence.

export interface Column<Row> {
  readonly title: string;
  readonly of: (row: Row) => unknown;
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
const NARROW = 80;
const LEAST_LAST_COLUMN = 12;

/** Without control characters: a prompt or a worker's name could otherwise rewrite the terminal. */
export const printable = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ");

const asCell = (value: unknown): string => {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map(asCell).join(",");
  return printable(typeof value === "object" ? JSON.stringify(value) : String(value));
};

const cut = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;

export class Output {
  readonly #options: OutputOptions;

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  get isJson(): boolean {
    return this.#options.isJson;
  }

  /** Messages about progress, never data. */
  say(words: string): void {
    this.#options.err.write(`${words}\n`);
  }

  /** One value; `text` is the form for people. */
  value(value: unknown, text: string): void {
    this.#options.out.write(this.#options.isJson ? `${JSON.stringify(value, null, 2)}\n` : withEnd(text));
  }

  /** One of many values that arrive over time: one line each, also as JSON. */
  line(value: unknown, text: string): void {
    this.#options.out.write(this.#options.isJson ? `${JSON.stringify(value)}\n` : withEnd(text));
  }

  /** Text as it arrives, without a line end. */
  raw(text: string): void {
    this.#options.out.write(text);
  }

  /** `whole` is what --json prints: the whole answer, not only its rows. */
  table<Row>(whole: unknown, rows: readonly Row[], columns: readonly Column<Row>[]): void {
    const { out, isJson } = this.#options;
    const cells = rows.map((row) => columns.map((column) => asCell(column.of(row))));
    const titles = columns.map(({ title }) => title.toUpperCase());
    if (isJson) this.value(whole, "");
    else if (!out.isTerminal) out.write(cells.map((line) => `${line.join("\t")}\n`).join(""));
    else if (rows.length === 0) this.say("Nothing.");
    else out.write(this.#aligned(cells, titles));
  }

  /** A record, one field per line. */
  record(value: object, fields: readonly (readonly [title: string, value: unknown])[]): void {
    const shown = fields.filter(([, field]) => field !== null && field !== undefined && field !== "");
    const width = Math.max(0, ...shown.map(([title]) => title.length));
    const separator = (title: string): string =>
      this.#options.out.isTerminal ? " ".repeat(width - title.length) + COLUMN_GAP : "\t";
    this.value(value, shown.map(([title, field]) => `${title}${separator(title)}${asCell(field)}\n`).join(""));
  }

  #aligned(cells: readonly string[][], titles: readonly string[]): string {
    const { out, hasColour } = this.#options;
    const widths = titles.map((title, at) => Math.max(title.length, ...cells.map((line) => line[at]?.length ?? 0)));
    const before = widths.slice(0, -1).reduce((sum, width) => sum + width + COLUMN_GAP.length, 0);
    const last = Math.max(LEAST_LAST_COLUMN, (out.columns ?? NARROW) - before);
    const lineOf = (line: readonly string[]): string =>
      line
        .map((cell, at) => (at === line.length - 1 ? cut(cell, last) : cell.padEnd(widths[at] ?? 0)))
        .join(COLUMN_GAP)
        .trimEnd();
    const head = hasColour ? `${BOLD}${lineOf(titles)}${PLAIN}` : lineOf(titles);
    return `${[head, ...cells.map(lineOf)].join("\n")}\n`;
  }
}

const withEnd = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
