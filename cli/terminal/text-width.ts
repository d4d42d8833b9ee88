// How many columns of a terminal a text takes: a wide character takes two, a mark on another none.

/** Made at the first text that needs it: most commands never do. */
let clusters: Intl.Segmenter | null = null;

const PLAIN = /^[ -~]*$/;
const UNSEEN = /^[\p{M}\p{Cf}]+$/u;
/** The blocks of East Asian wide characters (Unicode, UAX 11), and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]|\ufe0f/u;

const segmentsOf = (text: string): Iterable<{ segment: string }> => {
  clusters ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return clusters.segment(text);
};

const clusterWidth = (cluster: string): number => (WIDE.test(cluster) ? 2 : UNSEEN.test(cluster) ? 0 : 1);

export const widthOf = (text: string): number => {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmentsOf(text)) width += clusterWidth(segment);
  return width;
};

/** At most so many columns; what is cut off leaves a mark. */
export const cut = (text: string, width: number): string => {
  if (text.length <= width && PLAIN.test(text)) return text;
  let [taken, at, room] = [0, 0, 0];
  for (const { segment } of segmentsOf(text)) {
    taken += clusterWidth(segment);
    at += segment.length;
    if (taken < width) room = at;
    if (taken > width) return `${text.slice(0, room)}…`;
  }
  return text;
};

/** Filled with spaces up to so many columns. */
export const padded = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - widthOf(text)));
