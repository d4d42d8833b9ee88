// The arguments and flags typed after a command, by name.

import { UsageError } from "./failure.ts";

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
