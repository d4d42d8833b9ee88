// The search in the API's pages: an entry is found if it has every word that is asked for. Pure.

export interface Entry {
  readonly href: string;
  readonly title: string;
  /** One line about it. */
  readonly says: string;
  /** What else is searched. */
  readonly text: string;
}

export const MAX_QUERY_CHARS = 100;
const MAX_HITS = 50;

const hasAll = (text: string, words: readonly string[]): boolean => {
  const lower = text.toLowerCase();
  return words.every((word) => lower.includes(word));
};

/** Those with the words in their title or line first. */
export const found = (
  entries: readonly Entry[],
  query: string,
): { readonly hits: readonly Entry[]; readonly total: number } => {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const hits = entries.filter(({ title, says, text }) => hasAll(`${title} ${says} ${text}`, words));
  const [near, far] = [true, false].map((isNear) =>
    hits.filter(({ title, says }) => hasAll(`${title} ${says}`, words) === isNear),
  );
  return { hits: [...(near ?? []), ...(far ?? [])].slice(0, MAX_HITS), total: hits.length };
};
