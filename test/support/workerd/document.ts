// Checks answers against the service's own OpenAPI document: the path, the method, the status and the body's schema. A
// small reader of JSON Schema 2020-12, because workerd compiles no code from strings; an unknown keyword throws.

import { exports } from "cloudflare:workers";
import { afterEach, beforeEach, expect } from "vitest";
import { type Answer, type Body, observers } from "./client.ts";

const ANNOTATIONS = new Set(["description", "title", "default", "example", "examples", "deprecated", "$schema", "id"]);
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

let document: Promise<Body> | null = null;

export const readDocument = (): Promise<Body> => {
  document ??= exports.default
    .fetch("https://signalbox.test/openapi.json")
    .then((response) => response.json() as Promise<Body>);
  return document;
};

const resolve = (schema: Body, root: Body): Body => {
  if (schema?.$ref === undefined) return schema;
  const parts = String(schema.$ref).slice(2).split("/");
  const found = parts.reduce((node, part) => node?.[part], root);
  if (found === undefined) throw new Error(`the document has no ${schema.$ref}`);
  return resolve(found, root);
};

const typeOf = (value: unknown): string => {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
};

const isOfType = (value: unknown, type: string): boolean =>
  typeOf(value) === type || (type === "number" && typeof value === "number");

type Check = (value: Body, argument: Body, schema: Body, root: Body, at: string) => string[];

const all = (schemas: Body[], value: Body, root: Body, at: string): string[] =>
  schemas.flatMap((one) => mismatches(value, one, root, at));

const CHECKS: Record<string, Check> = {
  type: (value, types, _schema, _root, at) =>
    [types].flat().some((type: string) => isOfType(value, type)) ? [] : [`${at} is ${typeOf(value)}, not ${types}`],
  enum: (value, known: unknown[], _schema, _root, at) => (known.includes(value) ? [] : [`${at} is none of ${known}`]),
  const: (value, known, _schema, _root, at) => (value === known ? [] : [`${at} is not ${known}`]),
  anyOf: (value, options: Body[], _schema, root, at) => {
    const tried = options.map((option) => mismatches(value, option, root, at));
    return tried.some((found) => found.length === 0) ? [] : (tried[0] ?? []);
  },
  oneOf: (value, options: Body[], schema, root, at) => CHECKS.anyOf?.(value, options, schema, root, at) ?? [],
  allOf: (value, parts: Body[], _schema, root, at) => all(parts, value, root, at),
  properties: (value, properties: Record<string, Body>, schema, root, at) => {
    if (typeOf(value) !== "object") return [];
    // Stricter than the standard: undocumented fields are errors.
    const isOpen = schema.additionalProperties !== undefined && schema.additionalProperties !== false;
    return Object.entries(value).flatMap(([name, inner]) => {
      const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (known !== undefined) return mismatches(inner, known, root, `${at}.${name}`);
      return isOpen ? [] : [`${at}.${name} is not in the document`];
    });
  },
  required: (value, names: string[], _schema, _root, at) =>
    typeOf(value) === "object"
      ? names.filter((name) => !Object.hasOwn(value, name)).map((name) => `${at}.${name} is missing`)
      : [],
  additionalProperties: (value, inner, schema, root, at) => {
    if (typeof inner !== "object" || typeOf(value) !== "object") return [];
    const others = Object.entries(value).filter(([name]) => !Object.hasOwn(schema.properties ?? {}, name));
    return others.flatMap(([name, one]) => mismatches(one, inner, root, `${at}.${name}`));
  },
  propertyNames: (value, inner, _schema, root, at) =>
    typeOf(value) === "object"
      ? Object.keys(value).flatMap((name) => mismatches(name, inner, root, `${at}.${name}`))
      : [],
  items: (value, inner, _schema, root, at) =>
    Array.isArray(value) ? value.flatMap((one, index) => mismatches(one, inner, root, `${at}[${index}]`)) : [],
  minimum: (value, least, _schema, _root, at) =>
    value >= least || typeof value !== "number" ? [] : [`${at} < ${least}`],
  maximum: (value, most, _schema, _root, at) => (value <= most || typeof value !== "number" ? [] : [`${at} > ${most}`]),
  exclusiveMinimum: (value, least, _schema, _root, at) => (value > least ? [] : [`${at} <= ${least}`]),
  minLength: (value, least, _schema, _root, at) => (value.length >= least ? [] : [`${at} is shorter than ${least}`]),
  maxLength: (value, most, _schema, _root, at) => (value.length <= most ? [] : [`${at} is longer than ${most}`]),
  minItems: (value, least, _schema, _root, at) => (value.length >= least ? [] : [`${at} has fewer than ${least}`]),
  maxItems: (value, most, _schema, _root, at) => (value.length <= most ? [] : [`${at} has more than ${most}`]),
  pattern: (value, pattern, _schema, _root, at) =>
    typeof value !== "string" || new RegExp(pattern).test(value) ? [] : [`${at} does not match ${pattern}`],
  format: (value, format, _schema, _root, at) =>
    value === null || format !== "date-time" || DATE_TIME.test(value)
      ? []
      : [`${at} is not RFC 3339 UTC with milliseconds: ${value}`],
};

/** What the schema does not allow in a value. */
export const mismatches = (value: Body, given: Body, root: Body, at = "$"): string[] => {
  const schema = resolve(given, root);
  if (schema === true) return [];
  const found: string[] = [];
  for (const [keyword, argument] of Object.entries(schema)) {
    if (ANNOTATIONS.has(keyword)) continue;
    const check = CHECKS[keyword];
    if (check === undefined) throw new Error(`JSON Schema keyword ${keyword} is not known here`);
    const ofWrongType = found.length > 0 && keyword !== "type";
    if (!ofWrongType) found.push(...check(value, argument, schema, root, at));
  }
  return found;
};

const pathOf = (document: Body, path: string): Body => {
  const [bare = ""] = path.split("?");
  const literal = document.paths[bare];
  if (literal !== undefined) return literal;
  const known = Object.keys(document.paths).find((template) =>
    new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(bare),
  );
  return known === undefined ? undefined : document.paths[known];
};

/** What the document does not allow in an answer; unknown routes and wrong methods must be problems. */
const undocumented = async (method: string, path: string, answer: Answer): Promise<string[]> => {
  const root = await readDocument();
  const operation = pathOf(root, path)?.[method.toLowerCase() === "head" ? "get" : method.toLowerCase()];
  const media = (answer.headers.get("content-type") ?? "").split(";")[0] ?? "";
  const named = `${method} ${path} ${answer.status}`;
  if (operation === undefined) {
    if (![404, 405].includes(answer.status)) return [`${named}: no such operation`];
    if (answer.text === "") return [];
    return mismatches(answer.body, root.components.schemas.Problem, root).map((one) => `${named}: ${one}`);
  }
  const response = operation.responses[String(answer.status)];
  if (response === undefined) return [`${named} (${answer.body?.code}): the status is not in the document`];
  if (response.content === undefined) return answer.text === "" ? [] : [`${named}: a body that is not in the document`];
  const schema = response.content[media]?.schema;
  if (schema === undefined) return [`${named}: ${media} is not in the document`];
  if (method === "HEAD" || !media.includes("json") || path === "/openapi.json") return [];
  return mismatches(answer.body, schema, root).map((one) => `${named}: ${one}`);
};

/** Every answer that the tests of a file get must match the document and have a request id. */
export const holdToDocument = (): void => {
  const strays: string[] = [];
  beforeEach(() => {
    observers.push(async (method, path, answer) => {
      strays.push(...(await undocumented(method, path, answer)));
      if (!answer.headers.has("x-request-id")) strays.push(`${method} ${path}: no X-Request-Id`);
    });
  });
  afterEach(() => {
    observers.length = 0;
    expect(strays.splice(0)).toEqual([]);
  });
};
