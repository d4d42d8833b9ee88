// Every small change of a source file that a test should notice: each number increased by one, each comparison replaced
// by its neighbour, each `&&` by `||`. Works on text: a change that does not compile counts as noticed.

export interface Change {
  readonly file: string;
  /** The character that a test must reach to notice it: of an operator, the end of what stands before it. */
  readonly at: number;
  readonly what: string;
  /** The whole file with the change. */
  readonly text: string;
}

const NEIGHBOURS: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "&&": "||",
  "||": "&&",
  "??": "&&",
};

/** Comments, strings and templates, replaced by spaces of the same length: they contain no code. */
const QUIET = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|^import [^;]*;/gm;
/** As Biome formats them: an operator between spaces. A type's `<` has none. */
const OPERATOR = /(?<=\s)(?:===|!==|<=|>=|&&|\|\||\?\?|<|>)(?=\s)/g;
const NUMBER = /(?<![\w.$#])\d[\d_]*(?:\.\d+)?(?:e\d+)?(?![\w.])/g;

const raised = (number: string): string => String(Number(number.replaceAll("_", "")) + 1);

interface Replacement {
  readonly at: number;
  readonly found: string;
  readonly other: string;
}

const replacements = (quiet: string, places: RegExp, changed: (found: string) => string): Replacement[] =>
  [...quiet.matchAll(places)].map(({ 0: found, index }) => ({ at: index, found, other: changed(found) }));

/** `line 12: < as <=  if (left < right)`, for people. */
const described = (source: string, { at, found, other }: Replacement): string => {
  const before = source.slice(0, at).split("\n");
  const code = source.split("\n")[before.length - 1]?.trim();
  return `line ${before.length}: ${found} as ${other}  ${code}`;
};

export const scan = (file: string, source: string): Change[] => {
  const quiet = source.replaceAll(QUIET, (text) => text.replaceAll(/[^\n]/g, " "));
  const operators = replacements(quiet, OPERATOR, (found) => NEIGHBOURS[found] ?? found);
  return [...operators, ...replacements(quiet, NUMBER, raised)]
    .sort((one, other) => one.at - other.at)
    .map((replacement) => {
      const { at, found, other } = replacement;
      const text = `${source.slice(0, at)}${other}${source.slice(at + found.length)}`;
      const reachedAt = found in NEIGHBOURS ? source.slice(0, at).trimEnd().length - 1 : at;
      return { file, at: reachedAt, what: described(source, replacement), text };
    });
};
