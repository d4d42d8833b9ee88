// What is wrong with a body, field by field, and what to change. For an unknown field it names the nearest known one,
// so that a typo never routes a job to the wrong worker.

import type * as z from "zod";
import { type FieldError, invalid, type RefusalOf } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import { nearestOf } from "../text/nearest.ts";
import { entryOf } from "./values.ts";

const MAX_ERRORS = 20;
const MAX_NAME = 64;

export const fieldErrorsOf = (schema: z.ZodType, error: z.ZodError, given: unknown): FieldError[] =>
  error.issues
    .filter((issue, at, all) => !isOfWrongType(issue, all[at - 1]))
    .flatMap((issue) => describe(schema, issue, given))
    .slice(0, MAX_ERRORS);

/** A value of a wrong type is measured all the same: text in place of a list, as if its characters were entries. */
const isOfWrongType = (issue: z.core.$ZodIssue, before: z.core.$ZodIssue | undefined): boolean =>
  before?.code === "invalid_type" && before.path.join(".") === issue.path.join(".");

/** What a client sent, as the schema reads it. */
export const readAs = <Schema extends z.ZodType>(
  schema: Schema,
  given: unknown,
  where: string | null = null,
): Result<z.infer<Schema>, RefusalOf<"invalid_request">> => {
  const read = schema.safeParse(given);
  if (!read.success) return err(refusalOf(schema, read.error, given, where));
  const dropped = droppedKey(given, read.data);
  return dropped === null ? ok(read.data) : err(invalid(dropped, "is a reserved name: choose another"));
};

/** The path of a key `__proto__` that is not in what was read: zod drops it and does not say so. Null if there is none. */
const droppedKey = (given: unknown, read: unknown): string | null => {
  if (given === read || typeof given !== "object" || given === null) return null;
  const kept = Object(read);
  for (const key of Object.keys(given)) {
    if (key === "__proto__" && !Object.hasOwn(kept, key)) return key;
    const dropped = droppedKey((given as Record<string, unknown>)[key], kept[key]);
    if (dropped !== null) return join(key, dropped);
  }
  return null;
};

/** The refusal of a body, a query or a message. `where` is used for faults that belong to no field. */
export const refusalOf = (
  schema: z.ZodType,
  error: z.ZodError,
  given: unknown,
  where: string | null = null,
): RefusalOf<"invalid_request"> => {
  const errors = fieldErrorsOf(schema, error, given);
  const says = ({ path, message }: FieldError): string => {
    const name = path === "" ? where : path;
    return name === null ? message : `${name}: ${message}`;
  };
  return { code: "invalid_request", detail: errors.map(says).join("; "), errors };
};

const describe = (schema: z.ZodType, issue: z.core.$ZodIssue, given: unknown): FieldError[] => {
  const path = issue.path.map(String).join(".");
  if (issue.code === "unrecognized_keys") {
    const known = keysAt(schema, issue.path, given);
    return issue.keys
      .slice(0, MAX_ERRORS)
      .map((key) => ({ path: join(path, key), message: unknownField(key.slice(0, MAX_NAME), known) }));
  }
  if (issue.code === "invalid_union") {
    const meant = meantBranch(issue.errors);
    if (meant !== null)
      return meant.flatMap((inner) => describe(schema, { ...inner, path: [...issue.path, ...inner.path] }, given));
    const kinds = issue.errors.flatMap(([first]) => (first?.code === "invalid_type" ? kindOf(first) : []));
    if (kinds.length > 0) return [{ path, message: `must be ${kinds.join(" or ")}` }];
  }
  if (issue.code === "invalid_key")
    return issue.issues.map((inner) => ({ path, message: `its name ${inWords(inner, null)}` }));
  if (issue.code === "invalid_type" && isMissing(issue.path, given)) return [{ path, message: "is required" }];
  return [{ path, message: inWords(issue, at(issue.path, given)) }];
};

/** What zod expects, as a client calls it. */
const EXPECTED: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

const kindOf = ({ expected }: z.core.$ZodIssueInvalidType): string => entryOf(EXPECTED, expected) ?? expected;

/** What a bound counts: nothing is said of a number. */
const COUNTED: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ["character", "characters"],
  array: ["entry", "entries"],
};

const bound = (origin: string, words: string, limit: number | bigint): string => {
  const counted = entryOf(COUNTED, origin);
  return counted === undefined
    ? `must be ${words} ${limit}`
    : `must have ${words} ${limit} ${counted[Number(limit) === 1 ? 0 : 1]}`;
};

/** Zod's own words begin so; a schema that has words of its own keeps them. */
const BY_ZOD = /^(Too (small|big)|Invalid (input|option|discriminator value))[:.] /;

/** The values that a field may have; of a message, the types that there are. */
const valuesOf = (issue: z.core.$ZodIssue) => {
  if (issue.code === "invalid_value") return issue.values;
  return issue.code === "invalid_union" && issue.inclusive !== false ? issue.options : undefined;
};

const inWords = (issue: z.core.$ZodIssue, value: unknown): string => {
  if (!BY_ZOD.test(issue.message)) return issue.message;
  if (issue.code === "too_small")
    return bound(issue.origin, issue.inclusive === false ? "more than" : "at least", issue.minimum);
  if (issue.code === "too_big")
    return bound(issue.origin, issue.inclusive === false ? "less than" : "at most", issue.maximum);
  if (issue.code === "invalid_type") return `must be ${kindOf(issue)}`;
  const values = valuesOf(issue);
  if (values === undefined) return issue.message;
  const known = values.map(String);
  const nearest = typeof value === "string" && known.length > 1 ? nearestOf(value.slice(0, MAX_NAME), known) : null;
  const says = `must be ${known.length > 1 ? "one of " : ""}${known.join(", ")}`;
  return nearest === null ? says : `${says}; did you mean "${nearest}"?`;
};

/** What is wrong as the member of a union that the value is of: the one whose kind it has. */
const meantBranch = (branches: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] | null => {
  const ofItsKind = branches.filter((issues) =>
    issues.every(({ code, path }) => path.length > 0 || code !== "invalid_type"),
  );
  const [meant, ...others] = ofItsKind.filter((issues) => issues.length > 0);
  return meant === undefined || others.length > 0 ? null : meant;
};

const unknownField = (key: string, known: readonly string[]): string => {
  const nearest = nearestOf(key, known);
  const name = JSON.stringify(key);
  if (nearest !== null) return `unknown field ${name}; did you mean "${nearest}"?`;
  return known.length === 0 ? `unknown field ${name}` : `unknown field ${name}; known fields are ${known.join(", ")}`;
};

const join = (path: string, key: string): string =>
  path === "" ? key.slice(0, MAX_NAME) : `${path}.${key.slice(0, MAX_NAME)}`;

/** What was given there; null where nothing can be. */
const at = (path: readonly PropertyKey[], given: unknown): unknown => {
  let value: unknown = given;
  for (const key of path) {
    if (typeof value !== "object" || value === null) return null;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
};

const isMissing = (path: readonly PropertyKey[], given: unknown): boolean =>
  path.length > 0 && at(path, given) === undefined;

interface Definition {
  readonly type: string;
  readonly shape?: Record<string, z.ZodType>;
  readonly innerType?: z.ZodType;
  readonly element?: z.ZodType;
  readonly valueType?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly discriminator?: string;
}

const definitionOf = (schema: z.ZodType): Definition => schema._zod.def as unknown as Definition;

/** The field names that a schema knows at a path. */
const keysAt = (schema: z.ZodType, path: readonly PropertyKey[], given: unknown): string[] => {
  const found = unwrap(schema, given);
  const { shape } = definitionOf(found);
  const [next, ...rest] = path;
  if (next === undefined) return Object.keys(shape ?? {});
  const inner = shape?.[String(next)] ?? definitionOf(found).element ?? definitionOf(found).valueType;
  const value = typeof given === "object" && given !== null ? (given as Record<PropertyKey, unknown>)[next] : undefined;
  return inner === undefined ? [] : keysAt(inner, rest, value);
};

/** Unwraps optional, default and the like, and picks the union member that the value selects. */
const unwrap = (schema: z.ZodType, given: unknown): z.ZodType => {
  const { innerType, options, discriminator } = definitionOf(schema);
  if (innerType !== undefined) return unwrap(innerType, given);
  if (options === undefined || typeof given !== "object" || given === null) return schema;
  if (discriminator === undefined) {
    const kind = Array.isArray(given) ? "array" : "object";
    return options.find((option) => definitionOf(option).type === kind) ?? schema;
  }
  const named = (given as Record<string, unknown>)[discriminator];
  const member = options.find((option) => {
    const field = definitionOf(option).shape?.[discriminator];
    return field?.safeParse(named).success ?? false;
  });
  return member ?? schema;
};
