// Every small change of a source file that a test should notice: each number increased by one, each comparison replaced
// by its neighbour, each `&&` by `||`. Works on text: a change that does not compile counts as noticed.

export interface Change {
  /** The place in the file, for people. */
  readonly line: number;
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

const changesOf = (source: string, quiet: string, places: RegExp, changed: (found: string) => string): Change[] =>
  [...quiet.matchAll(places)].map(({ 0: found, index }) => {
    const line = source.slice(0, index).split("\n").length;
    const other = changed(found);
    return {
      line,
      what: `${found} as ${other}`,
      text: `${source.slice(0, index)}${other}${source.slice(index + found.length)}`,
    };
  });

export const scan = (source: string): Change[] => {
  const quiet = source.replaceAll(QUIET, (text) => text.replaceAll(/[^\n]/g, " "));
  const operators = changesOf(source, quiet, OPERATOR, (found) => NEIGHBOURS[found] ?? found);
  return [...operators, ...changesOf(source, quiet, NUMBER, raised)].sort((one, other) => one.line - other.line);
};
