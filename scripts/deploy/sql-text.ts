// SQL text without what a splitter of statements may misread: comments, which may hold quotes and semicolons, and
// carriage returns. What stands in quotes stays as it is.

const QUOTED: Readonly<Record<string, string>> = { "'": "'", '"': '"', "`": "`", "[": "]" };

/** The index after a quoted text or a comment that begins at `at`; `at` itself if neither does. */
const endOf = (sql: string, at: number): { readonly end: number; readonly isComment: boolean } => {
  const after = (mark: string, from: number): number => {
    const found = sql.indexOf(mark, from);
    return found === -1 ? sql.length : found + mark.length;
  };
  if (sql.startsWith("--", at)) return { end: after("\n", at), isComment: true };
  if (sql.startsWith("/*", at)) return { end: after("*/", at + 2), isComment: true };
  const close = QUOTED[sql[at] ?? ""];
  return { end: close === undefined ? at : after(close, at + 1), isComment: false };
};

/** A doubled quote inside a quoted text ends one and begins the next, which comes to the same. */
export const withoutComments = (sql: string): string => {
  let text = "";
  for (let at = 0; at < sql.length; ) {
    const { end, isComment } = endOf(sql, at);
    if (isComment) text += "\n";
    else if (end > at) text += sql.slice(at, end);
    else if (sql[at] !== "\r") text += sql[at];
    at = Math.max(end, at + 1);
  }
  return text
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line !== "")
    .join("\n")
    .trim();
};
