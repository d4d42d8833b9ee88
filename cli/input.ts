// The arguments and flags typed after a command, by name.

import { parseInterval } from "../contract/words/values.ts";
import { UsageError } from "./failure.ts";

/** A time is given as an instant, or as a span before now (`past`) or after now (`future`). */
type TimeIs = "past" | "future";

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T/;

export const instantOf = (flag: string, text: string, timeIs: TimeIs): string => {
  const span = parseInterval(text);
  if (span.ok) return new Date(Date.now() + (timeIs === "past" ? -span.value : span.value)).toISOString();
  if (DATE.test(text)) return `${text}T00:00:00Z`;
  if (DATE_TIME.test(text)) return text;
  throw new UsageError(
    `--${flag} takes a time such as 2026-01-31T09:00:00Z, or a span such as 2h or 7d, not "${text}"`,
  );
};

export class Input {
  readonly #args: Readonly<Record<string, readonly string[]>>;
  readonly #flags: Readonly<Record<string, readonly string[]>>;
  /** Unparsed arguments, for commands that pass them on. */
  readonly rest: readonly string[];

  constructor(
    args: Readonly<Record<string, readonly string[]>>,
    flags: Readonly<Record<string, readonly string[]>>,
    rest: readonly string[] = [],
  ) {
    this.#args = args;
    this.#flags = flags;
    this.rest = rest;
  }

  /** A required argument. */
  arg(name: string): string {
    return this.#args[name]?.[0] ?? "";
  }

  optionalArg(name: string): string | undefined {
    return this.#args[name]?.[0];
  }

  args(name: string): readonly string[] {
    return this.#args[name] ?? [];
  }

  is(flag: string): boolean {
    return this.#flags[flag] !== undefined;
  }

  text(flag: string): string | undefined {
    return this.#flags[flag]?.at(-1);
  }

  texts(flag: string): readonly string[] {
    return this.#flags[flag] ?? [];
  }

  number(flag: string): number | undefined {
    const text = this.text(flag);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (text.trim() !== "" && Number.isFinite(value)) return value;
    throw new UsageError(`--${flag} takes a number, not "${text}"`);
  }

  choice<Value extends string>(flag: string, values: readonly Value[]): Value | undefined {
    const text = this.text(flag);
    if (text === undefined) return undefined;
    const found = values.find((value) => value === text);
    if (found !== undefined) return found;
    throw new UsageError(`--${flag} is one of ${values.join(", ")}, not "${text}"`);
  }

  /** A time as the API takes it. */
  time(flag: string, timeIs: TimeIs = "past"): string | undefined {
    const text = this.text(flag);
    return text === undefined ? undefined : instantOf(flag, text, timeIs);
  }

  /** The given times of these names. */
  times<Name extends string>(...names: readonly Name[]): { [N in Name]?: string } {
    return Object.fromEntries(names.filter((name) => this.is(name)).map((name) => [name, this.time(name)])) as {
      [N in Name]?: string;
    };
  }

  /** The given flags of these names, under the API's names: `error-code` is `error_code`. */
  given(...names: readonly string[]): Record<string, string> {
    return Object.fromEntries(
      names.flatMap((name) => {
        const text = this.text(name);
        return text === undefined ? [] : [[name.replaceAll("-", "_"), text]];
      }),
    );
  }
}
