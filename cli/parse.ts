// Parses the arguments by the table of commands. Unknown names are refused, with the nearest known name.

import { parseArgs } from "node:util";
import { nearestOf } from "../contract/text/nearest.ts";
import { withoutKeyLike } from "../contract/text/secret-text.ts";
import { entryOf } from "../contract/words/values.ts";
import { UsageError } from "./failure.ts";
import { Input } from "./input.ts";
import type { Argument, Flag, Verb } from "./verb.ts";

/** The flags of every command. */
export const COMMON_FLAGS: Readonly<Record<string, Flag>> = {
  json: { takes: null, says: "prints the answer as JSON" },
  help: { takes: null, says: "explains the command and its flags" },
};

export type Parsed =
  | { readonly kind: "run"; readonly verb: Verb; readonly input: Input; readonly isJson: boolean }
  /** null: about all commands; text: about the commands that begin with it. */
  | { readonly kind: "help"; readonly about: Verb | string | null };

const KEY_FLAGS = ["key", "api-key", "token"];
const SHORT: Readonly<Record<string, string>> = { "-o": "output" };
const ONE_LETTER = /^-[a-z]$/i;
const HELP = new Set(["--help", "-h", "help"]);

export const parse = (argv: readonly string[], verbs: readonly Verb[]): Parsed => {
  const words = argv[0] === "help" ? argv.slice(1) : argv;
  const found = findVerb(words, verbs);
  if (found === null) {
    const first = words[0];
    if (first === undefined || HELP.has(first)) return { kind: "help", about: null };
    if (first === "--version") return parse(["version"], verbs);
    const isGroup = verbs.some(({ name }) => name.startsWith(`${first} `));
    if (isGroup && (words.length === 1 || HELP.has(words[1] ?? ""))) return { kind: "help", about: first };
    throw new UsageError(unknownVerb(words, verbs));
  }
  const { verb, rest } = found;
  if (argv[0] === "help") return { kind: "help", about: verb };
  if (verb.passesOn === true) return { kind: "run", verb, input: new Input({}, {}, rest), isJson: false };
  const { flags, positionals } = readFlags(verb, rest);
  if (flags.help !== undefined) return { kind: "help", about: verb };
  const input = new Input(readArguments(verb, positionals), flags);
  return { kind: "run", verb, input, isJson: flags.json !== undefined };
};

/** The command that these arguments are of, if it is known. */
export const verbIn = (argv: readonly string[], verbs: readonly Verb[]): Verb | null =>
  findVerb(argv, verbs)?.verb ?? null;

/** The longest command name that the words begin with. */
const findVerb = (words: readonly string[], verbs: readonly Verb[]): { verb: Verb; rest: readonly string[] } | null => {
  for (const length of [2, 1]) {
    const verb =
      words.length >= length ? verbs.find(({ name }) => name === words.slice(0, length).join(" ")) : undefined;
    if (verb !== undefined) return { verb, rest: words.slice(length) };
  }
  return null;
};

const unknownVerb = (words: readonly string[], verbs: readonly Verb[]): string => {
  const group = verbs.filter(({ name }) => name.startsWith(`${words[0]} `));
  if (group.length > 0 && words[1]?.startsWith("-") === true)
    return `a word is missing after "${words[0]}": ${group.map(({ name }) => name.slice(`${words[0]} `.length)).join(", ")}`;
  const typed = group.length > 0 ? words.slice(0, 2).join(" ") : (words[0] ?? "");
  const known =
    group.length > 0 ? group.map(({ name }) => name) : [...new Set(verbs.map(({ name }) => firstWord(name)))];
  const nearest = nearestOf(typed, known);
  return `there is no command "${typed}"${nearest === null ? "" : `; did you mean "${nearest}"?`}`;
};

const firstWord = (name: string): string => name.split(" ")[0] ?? "";

const readFlags = (verb: Verb, given: readonly string[]) => {
  const known: Readonly<Record<string, Flag>> = { ...verb.flags, ...COMMON_FLAGS };
  const words = given.map((word) => {
    const long = entryOf(SHORT, word);
    return long !== undefined && entryOf(known, long) !== undefined ? `--${long}` : word;
  });
  const flags: Record<string, string[]> = {};
  const positionals = new Map<number, string>();
  for (const token of tokensOf(known, words)) {
    const word = words[token.index] ?? "";
    if (token.kind === "positional") positionals.set(token.index, token.value);
    else if (word === "-h") flags.help = [""];
    else if (token.kind === "option" && !word.startsWith("--")) {
      if (ONE_LETTER.test(word)) throw new UsageError(`there is no flag ${word}`);
      positionals.set(token.index, word);
    } else if (token.kind === "option") {
      const { name, value } = token;
      const flag = entryOf(known, name);
      if (flag === undefined) throw new UsageError(unknownFlag(name, Object.keys(known)));
      if (flag.takes === null && token.inlineValue === true) throw new UsageError(`--${name} takes no value`);
      if (flag.takes !== null && value === undefined)
        throw new UsageError(`--${name} needs a value: --${name} <${flag.takes}>`);
      if (flags[name] !== undefined && flag.isRepeated !== true) throw new UsageError(`--${name} is given twice`);
      flags[name] = [...(flags[name] ?? []), value ?? ""];
    }
  }
  return { flags, positionals: [...positionals.values()] };
};

/**
 * As Node splits them, but not as it judges them: its own errors name no nearest flag, and a word such as `-5` is an
 * argument here, not a group of short flags.
 */
const tokensOf = (known: Readonly<Record<string, Flag>>, words: readonly string[]) => {
  const options = Object.fromEntries(
    Object.entries(known).map(([name, { takes }]) => [name, { type: takes === null ? "boolean" : "string" } as const]),
  );
  return parseArgs({ args: [...words], options, strict: false, tokens: true }).tokens;
};

/** Every process on the machine can see arguments, and they stay in the shell's history. */
const NO_KEYS = "keys are never arguments";

const unknownFlag = (name: string, known: readonly string[]): string => {
  if (KEY_FLAGS.includes(name)) return `${NO_KEYS}: set SERVICE_API_KEY, or use \`signalbox login\``;
  const nearest = nearestOf(name, known);
  return `there is no flag --${name}${nearest === null ? "" : `; did you mean --${nearest}?`}`;
};

const readArguments = ({ args = [] }: Verb, given: readonly string[]): Record<string, readonly string[]> => {
  const read: Record<string, readonly string[]> = {};
  let left = given;
  for (const argument of args) {
    const taken = argument.isMany === true ? left : left.slice(0, 1);
    if (taken.length === 0 && argument.isOptional !== true)
      throw new UsageError(`${shownArgument(argument)} is missing`);
    if (taken.length > 0) read[argument.name] = taken;
    left = left.slice(taken.length);
  }
  const [extra] = left;
  if (extra === undefined) return read;
  // A log may keep what is said here.
  throw new UsageError(
    withoutKeyLike(extra) === extra
      ? `unexpected argument "${extra}": put quotes around words that belong together`
      : `${NO_KEYS}: a command that needs one reads it from stdin`,
  );
};

export const shownArgument = ({ name, isOptional, isMany }: Argument): string => {
  const shown = `<${name}>${isMany === true ? " …" : ""}`;
  return isOptional === true ? `[${shown}]` : shown;
};
