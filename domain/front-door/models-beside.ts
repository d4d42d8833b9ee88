// The models that a provider runs beside the one that a request asks for: after a refusal, or as a tool of it.

import { hasFields, type Json, type JsonFields } from "../words/json.ts";

const named = (one: Json): Json | undefined => (hasFields(one) ? one.model : one);

export const modelsBeside = ({ fallbacks, tools }: JsonFields): string[] =>
  [fallbacks, tools]
    .flatMap((list) => (Array.isArray(list) ? (list as readonly Json[]).map(named) : []))
    .filter((name) => typeof name === "string");
