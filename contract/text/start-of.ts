// The beginning of a long text, cut between characters.

const ZERO_WIDTH_JOINER = "\u200d";

/** At most `most` UTF-16 units; never cuts a surrogate pair. */
export const startOf = (text: string, most: number): string => {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  const isSplit = last >= 0xd800 && last <= 0xdbff;
  const start = text.slice(0, isSplit ? most - 1 : most);
  return start.endsWith(ZERO_WIDTH_JOINER) ? start.slice(0, -1) : start;
};

/** The same as one line of well-formed text: control characters and white space become single spaces. */
export const lineOf = (text: string, most: number): string =>
  startOf(
    text
      .toWellFormed()
      .replaceAll(/[\p{Cc}\s]+/gu, " ")
      .trim(),
    most,
  );
