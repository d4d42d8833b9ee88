// One row per command: its name, arguments, help text and what it does. Parser, help and tests use the same row.

import type { Signalbox } from "../sdk/signalbox.ts";
import type { Ask, Keys } from "./ask.ts";
import type { Input } from "./input.ts";
import type { Output } from "./output.ts";

export interface Flag {
  /** The name of its value; null for a switch. */
  readonly takes: string | null;
  readonly says: string;
  readonly isRepeated?: boolean;
}

export interface Argument {
  readonly name: string;
  readonly says: string;
  readonly isOptional?: boolean;
  /** Takes all remaining arguments. */
  readonly isMany?: boolean;
}

export interface Context {
  readonly client: () => Signalbox;
  readonly output: Output;
  /** Aborted by the first SIGINT. */
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readInput: (file: string) => Promise<string>;
  /** null where there is no terminal. */
  readonly ask: Ask;
  /** null where there is no terminal. */
  readonly keys: Keys;
}

export interface Verb {
  /** One or two words: `jobs list`. */
  readonly name: string;
  readonly says: string;
  /** Lines to type, without `signalbox`. A test parses each; `<`, `>` and `|` begin what the shell does. */
  readonly examples: readonly [string, ...string[]];
  readonly args?: readonly Argument[];
  readonly flags?: Readonly<Record<string, Flag>>;
  /** Its arguments belong to another program and are passed on unparsed. */
  readonly passesOn?: boolean;
  /** Returns an exit code other than 0 after a failure that it has reported itself. */
  readonly run: (context: Context, input: Input) => Promise<number | undefined> | Promise<void>;
}
