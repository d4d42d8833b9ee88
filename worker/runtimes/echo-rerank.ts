// Reranking by the echo runtime: documents that share words with the query come first.

import { type JsonObject, objectOf } from "../../contract/text/json-object.ts";

const MAX_DOCUMENTS = 2048;

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** A document is text, or an object with a text. */
const textOf = (document: unknown): string =>
  typeof document === "string" ? document : String(objectOf(document).text ?? "");

export const echoRerank = (body: JsonObject, model: string): JsonObject => {
  const asked = new Set(wordsOf(textOf(body.query)));
  const documents = (Array.isArray(body.documents) ? body.documents : []).slice(0, MAX_DOCUMENTS);
  const scored = documents.map((document, index) => {
    const words = new Set(wordsOf(textOf(document)));
    const shared = [...asked].filter((word) => words.has(word)).length;
    const relevance_score = asked.size === 0 ? 0 : shared / asked.size;
    return {
      index,
      relevance_score,
      ...(body.return_documents === true ? { document: { text: textOf(document) } } : {}),
    };
  });
  const results = scored.sort((a, b) => b.relevance_score - a.relevance_score);
  const limit = typeof body.top_n === "number" ? Math.max(0, Math.floor(body.top_n)) : results.length;
  const tokens = asked.size + documents.reduce((sum, document) => sum + wordsOf(textOf(document)).length, 0);
  return { model, results: results.slice(0, limit), usage: { prompt_tokens: tokens, total_tokens: tokens } };
};
