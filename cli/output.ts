// What a command prints: data on stdout, messages on stderr. Data is a table on a terminal, tab-separated elsewhere,
// JSON with --json. Text from a server never reaches a terminal as a control sequence.

import { printable, printableLines } from "../contract/text/printable.ts";
import { asCell, COLUMN_GAP, type Column, cellsOf, tableLines } from "./terminal/cells.ts";
import { cut } from "./terminal/text-width.ts";

export interface Sink {
  readonly write: (text: string) => void;
  readonly isTerminal: boolean;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

interface OutputOptions {
  readonly out: Sink;
  readonly err: Sink;
  readonly isJson: boolean;
  readonly hasColour: boolean;
}

const BOLD = "\u001b[1m";
const PLAIN = "\u001b[0m";
const CLEAR_LINE = "\u001b[K";
const NARROW = 80;
const SHORT = 24;
/** The terminal's other screen: what was above is there again afterwards. */
const OTHER_SCREEN = "\u001b[?1049h\u001b[?25l";
const OWN_SCREEN = "\u001b[?25h\u001b[?1049l";
const TOP_LEFT = "\u001b[H";
const CLEAR_BELOW = "\u001b[J";

/** JSON escapes only the first of the two blocks of control characters; terminals obey both. */
const asJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replaceAll(
    /[\u007f-\u009f\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

export interface ScreenLine {
  readonly text: string;
  readonly isTitle?: boolean;
}

export class Output {
  readonly #options: OutputOptions;
  #isOnOtherScreen = false;
  #hasLiveLine = false;
  /** The terminal's last line has text that stays. */
  #isWithinLine = false;
  #lastSaid = "";

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  get isJson(): boolean {
    return this.#options.isJson;
  }

  /** Whether stdout is one. */
  get isTerminal(): boolean {
    return this.#options.out.isTerminal;
  }

  /** Whether a person reads it now: not a pipe, not JSON. */
  get isForPeople(): boolean {
    return this.isTerminal && !this.isJson;
  }

  /** Messages about progress, never data. */
  say(words: string): void {
    this.endLive();
    this.#endLine();
    this.#options.err.write(`${printableLines(words)}\n`);
    this.#lastSaid = words;
  }

  /** Why a command waits for the service: progress on a terminal, elsewhere one line however often it tries again. */
  away({ message }: Error): void {
    const words = `${message}: tries again`;
    if (this.isLive || words !== this.#lastSaid) this.progress(words);
  }

  /** Progress that changes: on a terminal one line, which each call writes again and `isLast` ends. */
  progress(words: string, isLast = false): void {
    const { err } = this.#options;
    if (!err.isTerminal) this.say(words);
    this.live(words);
    if (!isLast || !err.isTerminal) return;
    err.write("\n");
    this.#hasLiveLine = false;
  }

  /** Whether `live` shows anything. */
  get isLive(): boolean {
    return this.#options.err.isTerminal;
  }

  /** A line that is written again by the next, and gone after `endLive`; a pipe never sees it. */
  live(words: string): void {
    const { err } = this.#options;
    if (!err.isTerminal) return;
    this.#endLine();
    err.write(`\r${CLEAR_LINE}${cut(printable(words), (err.columns ?? NARROW) - 1)}`);
    this.#hasLiveLine = true;
  }

  endLive(): void {
    if (this.#hasLiveLine) this.#options.err.write(`\r${CLEAR_LINE}`);
    this.#hasLiveLine = false;
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

  #endLine(): void {
    if (this.#isWithinLine && this.isLive) this.#options.err.write("\n");
    this.#isWithinLine = false;
  }

  /** A pipe or a file gets the data as it is. */
  #show(text: string): void {
    this.#write(this.isTerminal ? printableLines(text) : text);
  }

  #write(text: string): void {
    const { out } = this.#options;
    this.endLive();
    out.write(text);
    if (text !== "") this.#isWithinLine = out.isTerminal && !text.endsWith("\n");
  }

  /** `whole` is what --json prints: the whole answer, not only its rows. */
  table<Row>(whole: unknown, rows: readonly Row[], columns: readonly Column<Row>[]): void {
    const { out, isJson } = this.#options;
    if (isJson) this.value(whole, "");
    else if (!out.isTerminal)
      this.#write(
        cellsOf(rows, columns, false)
          .map((line) => `${line.join("\t")}\n`)
          .join(""),
      );
    else if (rows.length === 0) this.say("Nothing.");
    else {
      const [head = "", ...lines] = tableLines(rows, columns, this.size.columns);
      this.#write(`${[this.#bold(head), ...lines].join("\n")}\n`);
    }
  }

  /** Of the terminal, now. */
  get size(): { readonly columns: number; readonly rows: number } {
    const { columns = NARROW, rows = SHORT } = this.#options.out;
    return { columns, rows };
  }

  /** A whole screen in place of the one before; `endScreen` must follow the last. */
  screen(lines: readonly ScreenLine[]): void {
    const { columns } = this.size;
    const shown = lines.map(({ text, isTitle = false }) => {
      const line = cut(printable(text), columns);
      return `${isTitle ? this.#bold(line) : line}${CLEAR_LINE}`;
    });
    const begin = this.#isOnOtherScreen ? "" : OTHER_SCREEN;
    this.#isOnOtherScreen = true;
    this.#options.out.write(`${begin}${TOP_LEFT}${shown.join("\r\n")}${CLEAR_BELOW}`);
  }

  endScreen(): void {
    if (this.#isOnOtherScreen) this.#options.out.write(OWN_SCREEN);
    this.#isOnOtherScreen = false;
  }

  #bold(text: string): string {
    return this.#options.hasColour ? `${BOLD}${text}${PLAIN}` : text;
  }

  /** Says that a table is only the newest part of a list. */
  cutOff(shown: number, total: number, hint = ""): void {
    if (shown < total) this.say(`The newest ${shown} of ${total}${hint}.`);
  }

  /** A record, one field per line; on a terminal a text keeps its lines. */
  record(value: object, fields: readonly (readonly [title: string, value: unknown])[]): void {
    const isNothing = (field: unknown): boolean => field == null || field === "" || (Array.isArray(field) && !field[0]);
    const shown = fields.filter(([, field]) => !isNothing(field));
    const width = Math.max(0, ...shown.map(([title]) => title.length)) + COLUMN_GAP.length;
    const { isTerminal } = this.#options.out;
    const lineOf = (title: string, field: unknown): string => {
      if (!isTerminal) return `${title}\t${asCell(field, false)}\n`;
      const lines = typeof field === "string" ? printableLines(field).trimEnd().split("\n") : [asCell(field, true)];
      return `${title.padEnd(width)}${lines.join(`\n${" ".repeat(width)}`)}\n`;
    };
    this.value(value, shown.map(([title, field]) => lineOf(title, field)).join(""));
  }
}

const withEnd = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
