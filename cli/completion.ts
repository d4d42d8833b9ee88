// Completion for shells, made from the table of commands: the words of a command, its flags, and the values of a flag
// that takes one of a few.

import { COMMON_FLAGS } from "./parse.ts";
import type { Verb } from "./verb.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

interface Offer {
  readonly word: string;
  readonly says: string;
}

interface FlagOffer extends Offer {
  readonly takesValue: boolean;
  /** None where any text is a value. */
  readonly values: readonly string[];
}

interface Command {
  readonly words: readonly string[];
  readonly flags: readonly FlagOffer[];
}

interface Group {
  readonly first: string;
  readonly seconds: readonly Offer[];
}

interface Grammar {
  readonly firsts: readonly Offer[];
  readonly groups: readonly Group[];
  readonly commands: readonly Command[];
}

const flagsOf = ({ flags = {}, passesOn }: Verb): FlagOffer[] =>
  Object.entries(passesOn === true ? {} : { ...flags, ...COMMON_FLAGS }).map(([name, { takes, says }]) => ({
    word: `--${name}`,
    says,
    takesValue: takes !== null,
    values: takes?.includes("|") === true ? takes.split("|").filter((value) => !value.includes("<")) : [],
  }));

const grammarOf = (verbs: readonly Verb[]): Grammar => {
  const groups = new Map<string, Offer[]>();
  const firsts = new Map<string, string>();
  for (const { name, says } of verbs) {
    const [first = "", second] = name.split(" ");
    if (second === undefined) firsts.set(first, says);
    else groups.set(first, [...(groups.get(first) ?? []), { word: second, says }]);
  }
  for (const [first, seconds] of groups)
    if (!firsts.has(first)) firsts.set(first, seconds.map(({ word }) => word).join(", "));
  return {
    firsts: [...firsts].map(([word, says]) => ({ word, says })),
    groups: [...groups].map(([first, seconds]) => ({ first, seconds })),
    commands: verbs.map((verb) => ({ words: verb.name.split(" "), flags: flagsOf(verb) })),
  };
};

const wordsOf = (offers: readonly Offer[]): string => offers.map(({ word }) => word).join(" ");
/** For bash and zsh. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
/** Matches a command's words where the second word of a command of one word is an argument. */
const patternOf = ([first, second]: readonly string[]): string => `${quoted(`${first} `)}${second ?? "*"}`;

const withValues = ({ commands }: Grammar) =>
  commands.flatMap(({ words, flags }) =>
    flags.filter(({ values }) => values.length > 0).map(({ word, values }) => ({ words, word, values })),
  );

const bash = (grammar: Grammar): string => `# Completion for bash: source <(signalbox completion bash)
_signalbox() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD - 1]}" first="\${COMP_WORDS[1]}" second= offers=
  ((COMP_CWORD > 2)) && second="\${COMP_WORDS[2]}"
  case "$COMP_CWORD:$first" in
    1:*) offers=${quoted(wordsOf(grammar.firsts))} ;;
${grammar.groups.map(({ first, seconds }) => `    2:${first}) offers=${quoted(wordsOf(seconds))} ;;`).join("\n")}
  esac
  if [[ -z $offers ]]; then
    case "$first $second:$before" in
${withValues(grammar)
  .map(({ words, word, values }) => `      ${patternOf(words)}:${word}) offers=${quoted(values.join(" "))} ;;`)
  .join("\n")}
    esac
  fi
  if [[ -z $offers && $word == -* ]]; then
    case "$first $second" in
${grammar.commands
  .filter(({ flags }) => flags.length > 0)
  .map(({ words, flags }) => `      ${patternOf(words)}) offers=${quoted(wordsOf(flags))} ;;`)
  .join("\n")}
    esac
  fi
  COMPREPLY=()
  [[ -z $offers ]] || COMPREPLY=($(compgen -W "$offers" -- "$word"))
}
complete -o default -F _signalbox signalbox
`;

const described = (offers: readonly Offer[]): string =>
  offers.map(({ word, says }) => quoted(`${word}:${says}`)).join(" ");

const zsh = (grammar: Grammar): string => `#compdef signalbox
# Completion for zsh: signalbox completion zsh > ~/.zfunc/_signalbox, with fpath=(~/.zfunc $fpath) before compinit
compdef _signalbox signalbox
_signalbox() {
  local -a offers
  local first=\${words[2]} second=
  ((CURRENT > 3)) && second=\${words[3]}
  case "$CURRENT:$first" in
    2:*) offers=(${described(grammar.firsts)}) ;;
${grammar.groups.map(({ first, seconds }) => `    3:${first}) offers=(${described(seconds)}) ;;`).join("\n")}
  esac
  if (($#offers)); then
    _describe command offers
    return
  fi
  case "$first $second:\${words[CURRENT - 1]}" in
${withValues(grammar)
  .map(({ words, word, values }) => `    ${patternOf(words)}:${word}) compadd -- ${values.join(" ")}; return ;;`)
  .join("\n")}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then
    case "$first $second" in
${grammar.commands
  .filter(({ flags }) => flags.length > 0)
  .map(({ words, flags }) => `      ${patternOf(words)}) offers=(${described(flags)}) ;;`)
  .join("\n")}
    esac
    _describe -o flag offers
    return
  fi
  _files
}
[[ $funcstack[1] != _signalbox ]] || _signalbox "$@"
`;

const fishQuoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

const fish = ({ firsts, groups, commands }: Grammar): string => {
  const word = (place: string, { word, says }: Offer): string =>
    `complete -c signalbox -n '${place}' -f -a ${word} -d ${fishQuoted(says)}`;
  const flag = (words: readonly string[], { word, says, takesValue, values }: FlagOffer): string =>
    [
      `complete -c signalbox -n '__signalbox_in ${words.join(" ")}' -l ${word.slice(2)}`,
      ...(values.length > 0 ? [`-x -a ${fishQuoted(values.join(" "))}`] : takesValue ? ["-r"] : []),
      `-d ${fishQuoted(says)}`,
    ].join(" ");
  return `# Completion for fish: signalbox completion fish > ~/.config/fish/completions/signalbox.fish
function __signalbox_at
  set -l words (commandline -opc)
  set -e words[1]
  test "$words" = "$argv"
end
function __signalbox_in
  set -l words (commandline -opc)
  set -e words[1]
  set -l many (count $argv)
  test (count $words) -ge $many; and test "$words[1..$many]" = "$argv"
end
${[
  ...firsts.map((one) => word("__signalbox_at", one)),
  ...groups.flatMap(({ first, seconds }) => seconds.map((one) => word(`__signalbox_at ${first}`, one))),
  ...commands.flatMap(({ words, flags }) => flags.map((one) => flag(words, one))),
].join("\n")}
`;
};

const SCRIPTS: Readonly<Record<Shell, (grammar: Grammar) => string>> = { bash, zsh, fish };

export const completionFor = (shell: Shell, verbs: readonly Verb[]): string => SCRIPTS[shell](grammarOf(verbs));
