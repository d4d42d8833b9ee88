// The depth limit for JSON from outside, over HTTP and over a socket.

export const MAX_JSON_DEPTH = 64;

/** Counts brackets outside strings before parsing, so that no parser recurses too deeply. */
export const isTooDeep = (text: string): boolean => {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (isInString) {
      if (char === 92) at += 1;
      else if (char === 34) isInString = false;
    } else if (char === 34) isInString = true;
    else if (char === 91 || char === 123) {
      depth += 1;
      if (depth > MAX_JSON_DEPTH) return true;
    } else if (char === 93 || char === 125) depth -= 1;
  }
  return false;
};
