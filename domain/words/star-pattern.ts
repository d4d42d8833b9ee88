// Patterns in which `*` stands for any characters. Without a regular expression, because patterns are user input: the
// time is linear in the text.

/**
 * Whether a text fits the pattern, which is read once for many texts. Finds each piece between stars after the previous
 * one.
 */
export const starPattern = (pattern: string): ((text: string) => boolean) => {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return (text) => pattern === text;
  const pieces = rest.filter((piece) => piece !== "");
  return (text) => {
    if (!text.startsWith(first)) return false;
    let at = first.length;
    for (const piece of pieces) {
      const found = text.indexOf(piece, at);
      if (found === -1) return false;
      at = found + piece.length;
    }
    return text.length - last.length >= at && text.endsWith(last);
  };
};

export const fitsPattern = (pattern: string, text: string): boolean => starPattern(pattern)(text);
