// Splits a command into its words, once, as a person expects it of a shell: quotes group, a backslash protects a space,
// a quote or a backslash. Nothing is expanded: no variables, no patterns, no substitution.

type SplitResult = { ok: true; words: string[] } | { ok: false; problem: string };

const SPACE = /\s/;
/** A backslash before anything else is itself, so that paths of Windows stay whole. */
const PROTECTED = /[\s"'\\]/;

export const splitWords = (command: string): SplitResult => {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  for (let at = 0; at < command.length; at += 1) {
    const char = command[at] ?? "";
    const next = command[at + 1] ?? "";
    const isEscape = char === "\\" && (quote === null ? PROTECTED.test(next) : quote === '"' && /["\\]/.test(next));
    if (isEscape) {
      word = (word ?? "") + next;
      at += 1;
    } else if (quote !== null) {
      if (char === quote) quote = null;
      else word = (word ?? "") + char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= "";
    } else if (SPACE.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? "") + char;
  }
  if (quote !== null) return { ok: false, problem: `has a ${quote} that is not closed` };
  if (word !== null) words.push(word);
  if (words.length === 0 || words[0] === "") return { ok: false, problem: "names no command" };
  return { ok: true, words };
};
