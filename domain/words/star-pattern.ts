// Patterns in which `*` stands for any characters. Without a regular expression, because patterns are user input: the
// time is linear in the text.

/** Finds each piece between stars after the previous one. */
export const fitsPattern = (pattern: string, text: string): boolean => {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return pattern === text;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
};
