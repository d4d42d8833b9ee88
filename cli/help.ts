// Help, made from the same table as the parser.

import { LOCAL_URL } from "../contract/words/values.ts";
import { COMMON_FLAGS, shownArgument } from "./parse.ts";
import type { Flag, Verb } from "./verb.ts";

const INDENT = "  ";
/** What one begins with. */
const FIRST_VERBS: readonly string[] = ["doctor", "run", "status", "jobs list"];
/** Of a noun with many verbs. */
const MAX_EXAMPLES = 5;

const rows = (lines: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...lines.map(([left]) => left.length));
  return lines.map(([left, right]) => `${INDENT}${left.padEnd(width)}${INDENT}${right}`.trimEnd()).join("\n");
};

const usageOf = ({ name, args = [], flags = {}, passesOn }: Verb): string =>
  [
    `signalbox ${name}`,
    ...args.map(shownArgument),
    ...(Object.keys(flags).length > 0 || passesOn === true ? ["[--flag …]"] : []),
  ].join(" ");

const flagRow = ([name, { takes, says, isRepeated }]: [string, Flag]): readonly [string, string] => [
  `--${name}${takes === null ? "" : ` <${takes}>`}`,
  `${says}${isRepeated === true ? "; may be given more than once" : ""}`,
];

const examplesOf = (lines: readonly string[]): string =>
  `Examples:\n${lines.map((line) => `${INDENT}signalbox ${line}`).join("\n")}`;

const ofVerb = (verb: Verb): string => {
  const { says, args = [], flags = {} } = verb;
  const parts = [`${says}\n\nUsage: ${usageOf(verb)}`];
  if (args.length > 0) parts.push(rows(args.map((one) => [shownArgument(one), one.says])));
  if (verb.passesOn !== true) parts.push(`Flags:\n${rows(Object.entries({ ...flags, ...COMMON_FLAGS }).map(flagRow))}`);
  parts.push(examplesOf(verb.examples));
  return parts.join("\n\n");
};

const ofMany = (verbs: readonly Verb[]): string =>
  rows(verbs.map((verb) => [[verb.name, ...(verb.args ?? []).map(shownArgument)].join(" "), verb.says]));

const ABOUT_ALL = `Environment: SERVICE_API_URL (${LOCAL_URL}), SERVICE_API_KEY; without them the saved \`signalbox login\`.
NO_COLOR turns colours off. Data goes to stdout, messages to stderr; --json prints the raw answer.
Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 130 interrupted.

signalbox <command> --help explains a command.`;

export const helpAbout = (about: Verb | string | null, verbs: readonly Verb[]): string => {
  if (about === null) {
    const first = verbs.filter(({ name }) => FIRST_VERBS.includes(name)).flatMap(({ examples: [one] }) => one ?? []);
    return `Usage: signalbox <command>\n\n${ofMany(verbs)}\n\n${examplesOf(first)}\n\n${ABOUT_ALL}`;
  }
  if (typeof about !== "string") return ofVerb(about);
  const ofNoun = verbs.filter(({ name }) => name.startsWith(`${about} `));
  const examples = ofNoun.flatMap(({ examples: [first] }) => first ?? []).slice(0, MAX_EXAMPLES);
  return `${ofMany(ofNoun)}\n\n${examplesOf(examples)}`;
};
