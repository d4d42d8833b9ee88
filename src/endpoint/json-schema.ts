// Zod schemas as JSON Schema 2020-12, each named schema once. A request schema says what may be left out; an answer
// schema says what is always present. Where the two differ under one name, the answer's is called `…Answer`.

import * as z from "zod";

/** The keywords that our schemas use. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly description?: string;
}

type Side = "input" | "output";

const DEFINITION = "#/$defs/";
const COMPONENT = "#/components/schemas/";

/**
 * Removes what is of no use to a reader: the bounds of every integer, a pattern beside its format, and closed answer
 * objects.
 */
const simplify = (side: Side, zodSchema: z.core.$ZodType, schema: z.core.JSONSchema.BaseSchema): void => {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.format !== undefined) delete schema.pattern;
  const { def } = zodSchema._zod as { def: { type: string; catchall?: unknown; defaultValue?: unknown } };
  // Zod omits the default of a converted value, such as the digits of a query.
  if (def.type === "default") schema.default ??= def.defaultValue as typeof schema.default;
  // A record of all of an enum's names: generators know its fields only by name.
  if (def.type === "record" && schema.required !== undefined) {
    schema.properties = Object.fromEntries(schema.required.map((name) => [name, schema.additionalProperties ?? {}]));
    for (const open of ["propertyNames", "additionalProperties"] as const) delete schema[open];
  }
  if (side === "output" && def.type === "object" && def.catchall === undefined) delete schema.additionalProperties;
};

/** Collects the named schemas of requests and answers; `finish` completes the references. */
export class SchemaBook {
  readonly #texts = { input: new Map<string, string>(), output: new Map<string, string>() };

  request(schema: z.ZodType): JsonSchema {
    return this.#note(schema, "input");
  }

  answer(schema: z.ZodType): JsonSchema {
    return this.#note(schema, "output");
  }

  #note(schema: z.ZodType, io: Side): JsonSchema {
    const { $schema: _, ...written } = z.toJSONSchema(schema, {
      io,
      unrepresentable: "any",
      override: ({ zodSchema, jsonSchema }) => simplify(io, zodSchema, jsonSchema),
    });
    const { $defs = {}, ...own } = JSON.parse(
      JSON.stringify(written).replaceAll(`"${DEFINITION}`, `"${DEFINITION}${io}/`),
    ) as JsonSchema & { $defs?: Record<string, JsonSchema> };
    for (const [name, one] of Object.entries($defs)) this.#texts[io].set(name, JSON.stringify(one));
    return own;
  }

  /** The fields of an object schema, with or without a name. */
  fieldsOf(schema: JsonSchema): JsonSchema {
    const [, io, name] =
      new RegExp(`^${DEFINITION.replace("$", "\\$")}(input|output)/(.+)$`).exec(schema.$ref ?? "") ?? [];
    if (io === undefined || name === undefined) return schema;
    return JSON.parse(this.#texts[io as Side].get(name) ?? "{}") as JsonSchema;
  }

  /** Names whose request and answer schemas differ, in themselves or in what they reference. */
  #differing(): Set<string> {
    const { input, output } = this.#texts;
    const both = [...input].filter(([name]) => output.has(name));
    const differing = new Set<string>();
    for (let size = -1; size !== differing.size; ) {
      size = differing.size;
      for (const [name, text] of both) {
        const isSame = text.replaceAll(`${DEFINITION}input/`, `${DEFINITION}output/`) === output.get(name);
        const refs = [...text.matchAll(/"#\/\$defs\/input\/([^"]+)"/g)].map(([, ref = ""]) => ref);
        if (!isSame || refs.some((ref) => differing.has(ref))) differing.add(name);
      }
    }
    return differing;
  }

  /** A document made of the schemas given out, with the named schemas that it needs. */
  finish<T>(document: (schemas: Readonly<Record<string, JsonSchema>>) => T): T {
    const differing = this.#differing();
    const nameOf = (io: Side, name: string): string =>
      io === "output" && differing.has(name) ? `${name}Answer` : name;
    const schemas: Record<string, JsonSchema> = {};
    for (const io of ["input", "output"] as const) {
      for (const [name, text] of this.#texts[io]) schemas[nameOf(io, name)] = JSON.parse(text) as JsonSchema;
    }
    const text = JSON.stringify(document(Object.fromEntries(Object.entries(schemas).sort())));
    const resolved = text.replaceAll(
      /"#\/\$defs\/(input|output)\/([^"]+)"/g,
      (_whole, io: Side, name: string) => `"${COMPONENT}${nameOf(io, name)}"`,
    );
    return JSON.parse(resolved) as T;
  }
}
