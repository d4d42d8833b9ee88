// The models that a provider runs beside the one that a request asks for: after a refusal, or as a tool of it.

import { hasFields, type Json, type JsonFields } from "../words/json.ts";

/** Each is compared with every pattern of its key. */
export const MAX_BESIDE = 100;
export const TOO_MANY_BESIDE = `must name at most ${MAX_BESIDE} models, with the tools`;

const list = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);
const modelOf = (one: Json): Json | undefined => (hasFields(one) ? one.model : undefined);

export const modelsBeside = ({ fallbacks, tools }: JsonFields): string[] => {
  const named = [...list(fallbacks).map((one) => modelOf(one) ?? one), ...list(tools).map(modelOf)];
  return [...new Set(named.filter((name) => typeof name === "string"))];
};
