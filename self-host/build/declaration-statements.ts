// Splits a declaration file that the compiler wrote into its statements, as text. Handles only what the compiler
// writes: brackets, strings, comments.

const OPENING = "([{";
const CLOSING = ")]}";

/** The end of the string or comment that begins here; the same position if none begins. */
const skipped = (text: string, at: number): number => {
  const char = text[at];
  if (char === '"' || char === "'" || char === "`") {
    let end = at + 1;
    while (end < text.length && text[end] !== char) end += text[end] === "\\" ? 2 : 1;
    return end + 1;
  }
  if (text.startsWith("//", at)) return text.indexOf("\n", at) + 1 || text.length;
  if (text.startsWith("/*", at)) return text.indexOf("*/", at) + 2;
  return at;
};

export const statementsOf = (text: string): string[] => {
  const statements: string[] = [];
  let depth = 0;
  let begin = 0;
  for (let at = 0; at < text.length; ) {
    const after = skipped(text, at);
    if (after > at) {
      at = after;
      continue;
    }
    const char = text[at] ?? "";
    if (OPENING.includes(char)) depth += 1;
    else if (CLOSING.includes(char)) depth -= 1;
    at += 1;
    // An interface ends with its bracket, everything else with a semicolon.
    const isBlockEnd = char === "}" && depth === 0 && /^\s*(\n|$)/.test(text.slice(at));
    if (depth === 0 && (char === ";" || isBlockEnd)) {
      statements.push(text.slice(begin, at).trim());
      begin = at;
    }
  }
  return statements.filter((statement) => statement !== "");
};
