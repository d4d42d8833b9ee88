// A verb of the command line: one row says its name, what it takes, its words and what it does. Parser, help and tests
// read the same row.

import type { Signalbox } from "../sdk/signalbox.ts";
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
  /** Takes all that are left. */
  readonly isMany?: boolean;
}

export interface Context {
  readonly client: () => Signalbox;
  readonly output: Output;
  /** Aborted by the first SIGINT. */
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readInput: (file: string) => Promise<string>;
}

export interface Verb {
  /** One or two words: `jobs list`. */
  readonly name: string;
  readonly says: string;
  readonly args?: readonly Argument[];
  readonly flags?: Readonly<Record<string, Flag>>;
  /** Its arguments are another command's, passed on unread. */
  readonly passesOn?: boolean;
  /** An exit code other than 0 is a failure that the verb has told. */
  readonly run: (context: Context, input: Input) => Promise<number | undefined> | Promise<void>;
}
