// A search finds words by their beginnings. The index would read the entries of all words with such a beginning before
// it tells the first: told the words themselves, it reads on only until it has enough.

/**
 * The most words listed in one search. A beginning of more words, or of a longer word, is left to the index. A word
 * costs about 40 µs and 25 KB, however many jobs there are. A single letter begins some 450 words of prose.
 */
const MAX_FORMS = 512;
const MAX_FORM_CHARS = 64;
/** Words that the index writes as `toLowerCase` does. */
const PLAIN = /^[0-9a-z]+$/i;
/** A letter that begins too many words to list finds only itself: the index would read a part of all jobs' entries. */
const LETTER = /^[0-9a-z]$/i;

/** A pattern may have 50 bytes only. */
const IS_FORM = "substr(form, 1, length(word)) = word";
const FORMS = `WITH RECURSIVE forms(word, form, many) AS (
    SELECT value, (SELECT term FROM job_terms_known WHERE term >= value LIMIT 1), 1 FROM json_each(?1)
    UNION ALL
    SELECT word, (SELECT term FROM job_terms_known WHERE term >= form || char(1) LIMIT 1), many + 1
    FROM forms WHERE many <= ${MAX_FORMS} AND ${IS_FORM})
  SELECT word, form FROM forms WHERE ${IS_FORM}`;

/** Each word of a search as the index is asked for those that begin with it. */
export const inIndex = async (db: D1Database, words: readonly string[]): Promise<string[]> => {
  if (words.length === 0) return [];
  const asked = JSON.stringify(words.map((word) => word.toLowerCase()));
  const { results } = await db.prepare(FORMS).bind(asked).all<{ word: string; form: string }>();
  const known = Map.groupBy(results, ({ word }) => word);
  let left = MAX_FORMS;
  return words.map((word) => {
    const forms = (known.get(word.toLowerCase()) ?? []).map(({ form }) => form);
    const isListed = PLAIN.test(word) && forms.length <= left && forms.every((form) => form.length <= MAX_FORM_CHARS);
    if (isListed) left -= forms.length;
    if (isListed) return `(${forms.map(quoted).join(" OR ") || quoted(word)})`;
    return LETTER.test(word) ? quoted(word) : `${quoted(word)}*`;
  });
};

const quoted = (word: string): string => `"${word}"`;
