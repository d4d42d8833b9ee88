// Vectors in the form that a client of embeddings asks for.

import { isObject, type JsonObject, objectOf } from "../../contract/text/json-object.ts";

const base64Of = (vector: readonly number[]): string => Buffer.from(new Float32Array(vector).buffer).toString("base64");

/** The numbers that an author wrote as a list: some clients that asked for base64 read a list as an empty vector. */
export const vectorsAsAsked = (body: JsonObject, answer: JsonObject): JsonObject => {
  if (body.encoding_format !== "base64" || !Array.isArray(answer.data)) return answer;
  const data = answer.data.map((one) => {
    const { embedding } = objectOf(one);
    const isList = Array.isArray(embedding) && embedding.every((value) => typeof value === "number");
    return isList && isObject(one) ? { ...one, embedding: base64Of(embedding) } : one;
  });
  return { ...answer, data };
};
