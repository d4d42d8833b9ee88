// JSON Schemas as table rows: name, type, limits and description. Pure; all escaping happens here.

import type { JsonSchema } from "../../endpoint/json-schema.ts";
import { escapeHtml } from "../../http/escape-html.ts";

const MAX_DEPTH = 4;

export const prose = (text: string): string =>
  escapeHtml(text)
    .replaceAll(/`([^`]+)`/g, "<code>$1</code>")
    .replaceAll("\n\n", "<br>");

const literal = (value: unknown): string => `<code>${escapeHtml(JSON.stringify(value))}</code>`;

const optionsOf = ({ anyOf = [], oneOf = [] }: JsonSchema): readonly JsonSchema[] => [...anyOf, ...oneOf];

/** The type in words; a named schema becomes a link. */
export const typeHtml = (schema: JsonSchema): string => {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split("/").at(-1) ?? "";
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(literal).join(" | ");
  if (schema.allOf !== undefined) return typeHtml(schema.allOf[0] ?? {});
  const options = optionsOf(schema);
  if (options.length > 0) return options.map(typeHtml).join(" or ");
  const { items, additionalProperties: values, type, format } = schema;
  if (type === "array") return `array of ${items === undefined ? "anything" : typeHtml(items)}`;
  if (type === "object" && schema.properties === undefined && typeof values === "object")
    return `map of ${typeHtml(values)}`;
  if (type === undefined) return "any";
  return `${[type].flat().join(" or ")}${format === undefined ? "" : ` (${format})`}`;
};

/** `#` stands for the limit. */
const LIMITS = {
  minimum: "at least #",
  exclusiveMinimum: "more than #",
  maximum: "at most #",
  exclusiveMaximum: "less than #",
  minLength: "at least # characters",
  maxLength: "at most # characters",
  minItems: "at least # entries",
  maxItems: "at most # entries",
  pattern: "matches #",
} as const satisfies Partial<Record<keyof JsonSchema, string>>;

const limitsHtml = (schema: JsonSchema): string =>
  Object.entries(LIMITS)
    .flatMap(([keyword, words]) => {
      const limit = schema[keyword as keyof typeof LIMITS];
      return limit === undefined ? [] : [words.replace("#", () => `<code>${escapeHtml(String(limit))}</code>`)];
    })
    .join(", ");

/** The object whose fields are shown below this one, if it has no name of its own. */
const nestedOf = (schema: JsonSchema): JsonSchema | null => {
  if (schema.properties !== undefined) return schema;
  const { items, additionalProperties: values } = schema;
  const inner = [items, typeof values === "object" ? values : undefined, ...optionsOf(schema)];
  return inner.find((one) => one?.properties !== undefined) ?? null;
};

/** A field, followed by the fields inside it. */
export const fieldRows = (name: string, schema: JsonSchema, isRequired: boolean, place = "", depth = 0): string => {
  const defaulted = schema.default === undefined ? "" : `default ${literal(schema.default)}`;
  const says = [
    place === "" ? "" : `in the ${place}`,
    isRequired ? "" : "optional",
    limitsHtml(schema),
    defaulted,
    prose(schema.description ?? ""),
  ].filter((part) => part !== "");
  const row = `<tr><td><code>${escapeHtml(name)}</code></td><td>${typeHtml(schema)}</td><td>${says.join("; ")}</td></tr>`;
  const nested = depth === MAX_DEPTH ? null : nestedOf(schema);
  const rows = Object.entries(nested?.properties ?? {}).map(([inner, one]) =>
    fieldRows(`${name}.${inner}`, one, nested?.required?.includes(inner) === true, "", depth + 1),
  );
  return row + rows.join("");
};
