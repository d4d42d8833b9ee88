// A schema as the text of a TypeScript type, by way of its JSON Schema.

import * as z from "zod";

type JsonSchema = z.core.JSONSchema.JSONSchema;

/** `Json` of the domain, the type of any value in a job. Its file is named from the root of the checkout. */
const ANY_JSON = 'import("/domain/words/json.ts").Json';

export const typeOf = (schema: z.ZodType, io: "input" | "output"): string => {
  const root = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return print(root, root.$defs ?? {});
};

const print = (schema: JsonSchema | boolean, defs: Readonly<Record<string, JsonSchema>>): string => {
  if (typeof schema === "boolean") return schema ? ANY_JSON : "never";
  if (schema.$ref !== undefined) return print(defs[schema.$ref.split("/").at(-1) ?? ""] ?? {}, defs);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) return alternatives.map((one) => print(one, defs)).join(" | ");
  if (schema.allOf !== undefined) return schema.allOf.map((one) => `(${print(one, defs)})`).join(" & ");
  if (Array.isArray(schema.type)) return schema.type.map((type) => print({ ...schema, type }, defs)).join(" | ");
  switch (schema.type) {
    case "string":
      return "string";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "null":
      return "null";
    case "array":
      return `(${print((schema.items as JsonSchema | undefined) ?? {}, defs)})[]`;
    case "object":
      return printObject(schema, defs);
    default:
      return ANY_JSON;
  }
};

const printObject = (schema: JsonSchema, defs: Readonly<Record<string, JsonSchema>>): string => {
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const isRequired = schema.required?.includes(name) === true;
    const type = print(field, defs);
    const words = typeof field === "object" ? describe(field) : "";
    return `${words}${/^\w+$/.test(name) ? name : JSON.stringify(name)}${isRequired ? "" : "?"}: ${type}${isRequired ? "" : " | undefined"};`;
  });
  const others = schema.additionalProperties;
  const isMap = typeof others === "object" && Object.keys(others).length > 0;
  if (fields.length === 0)
    return isMap ? `{ [name: string]: ${print(others as JsonSchema, defs)} }` : "{ [name: string]: unknown }";
  return `{ ${fields.join(" ")} }`;
};

const describe = ({ description }: JsonSchema): string =>
  description === undefined ? "" : `/** ${description.replaceAll("*/", "* /")} */ `;
