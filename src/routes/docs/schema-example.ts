// An example value for a JSON Schema: its example or default, else a value that type and limits allow. Pure.

import type { JsonSchema } from "../../endpoint/json-schema.ts";

type Schemas = Readonly<Record<string, JsonSchema>>;

const MAX_DEPTH = 6;
const SAMPLE_INSTANT = "2026-01-31T09:00:00.000Z";

/** Sample texts that read better than the field's name. */
const SAMPLE_TEXTS: Readonly<Record<string, string>> = {
  prompt: "Say hello.",
  provider: "ollama",
  model: "llama3.2",
  instance: "worker-1",
  id: "job_01",
  job_id: "job_01",
  cron: "0 9 * * 1-5",
  timezone: "Europe/Berlin",
  url: "https://example.com/hook",
  // Those of RFC 7636, Appendix B.
  challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
  verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
};

const objectExample = (schema: JsonSchema, schemas: Schemas, depth: number): Record<string, unknown> => {
  const fields = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name) === true);
  return Object.fromEntries(fields.map(([name, one]) => [name, exampleOf(one, schemas, name, depth + 1)]));
};

export const exampleOf = (schema: JsonSchema, schemas: Schemas, name = "", depth = 0): unknown => {
  if (schema.$ref !== undefined) {
    const named = schemas[schema.$ref.split("/").at(-1) ?? ""];
    return named === undefined || depth > MAX_DEPTH ? {} : exampleOf(named, schemas, name, depth);
  }
  const given = schema.examples?.[0] ?? schema.const ?? schema.default ?? schema.enum?.[0];
  if (given !== undefined) return given;
  const [option] = schema.anyOf ?? schema.oneOf ?? [];
  // A limit that is off unless it is set: who copies the example of the config gets none.
  if (schema.default === null && option?.maximum !== undefined) return null;
  if (option !== undefined) return exampleOf(option, schemas, name, depth);
  const [type] = [schema.type].flat();
  switch (type) {
    case "object":
      return objectExample(schema, schemas, depth);
    case "array":
      return depth > MAX_DEPTH || schema.items === undefined
        ? []
        : [exampleOf(schema.items, schemas, name.replace(/s$/, ""), depth + 1)];
    case "integer":
    case "number":
      return Math.max(schema.minimum ?? 1, 1);
    case "boolean":
      return false;
    case "string":
      return schema.format === "date-time" ? SAMPLE_INSTANT : (SAMPLE_TEXTS[name] ?? (name === "" ? "text" : name));
    default:
      return null;
  }
};
