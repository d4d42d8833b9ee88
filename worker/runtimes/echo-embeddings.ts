// Embeddings of the echo runtime: a small vector of length one that depends only on the text.

import type { JsonObject } from "../../contract/text/json-object.ts";
import { vectorsAsAsked } from "../apis/vectors.ts";

const DIMENSIONS = 8;
const MAX_DIMENSIONS = 4096;
const MAX_TEXTS = 2048;

export const echoEmbeddings = (body: JsonObject, model: string): JsonObject => {
  const texts = (Array.isArray(body.input) ? body.input : [body.input]).slice(0, MAX_TEXTS).map(String);
  const size =
    typeof body.dimensions === "number" ? Math.min(Math.max(1, body.dimensions), MAX_DIMENSIONS) : DIMENSIONS;
  const words = texts
    .join(" ")
    .split(/\s+/)
    .filter((word) => word !== "").length;
  const data = texts.map((text, index) => ({ object: "embedding", index, embedding: vectorOf(text, size) }));
  const usage = { prompt_tokens: words, total_tokens: words };
  return vectorsAsAsked(body, { object: "list", data, model, usage });
};

const vectorOf = (text: string, size: number): number[] => {
  // FNV-1a; any hash of the text would do.
  let state = 2_166_136_261;
  const next = (code: number) => {
    state = Math.imul(state ^ code, 16_777_619) >>> 0;
    return state / 2 ** 31 - 1;
  };
  for (const character of text) next(character.codePointAt(0) ?? 0);
  const raw = Array.from({ length: Math.floor(size) }, (_, at) => next(at + 1));
  const length = Math.hypot(...raw) || 1;
  return raw.map((value) => value / length);
};
