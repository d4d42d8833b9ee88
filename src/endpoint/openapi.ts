// The OpenAPI document, made from the endpoint descriptions that also validate and mount.

import type * as z from "zod";
import { readerGone, readerTook } from "../../contract/data-line.ts";
import { jobInput } from "../../contract/jobs/job-input.ts";
import { liveMessage } from "../../contract/live.ts";
import { WIRE } from "../../contract/refusal.ts";
import { coordinatorMessage, workerMessage } from "../../contract/socket.ts";
import { problemResource } from "../../contract/words/problem.ts";
import { rolesWith } from "../../domain/access/key.ts";
import type { RefusalCode } from "../../domain/words/refusal.ts";
import type { Description, Method, Needs } from "./description.ts";
import { type JsonSchema, SchemaBook } from "./json-schema.ts";
import type { Endpoint } from "./router.ts";

/** The key that a caller needs, as a sentence. */
const describeNeeds = (needs: Needs): string => {
  if (needs === "none") return "Needs no key.";
  if (needs === "root") return "Needs the operator's root key.";
  const roles = new Intl.ListFormat("en", { type: "disjunction" }).format(rolesWith(needs));
  return `Needs a key with role ${roles}.`;
};

export const UNAUTHORIZED = ["authentication_failed", "key_revoked", "key_rotated", "key_suspended"] as const;

/** Refusals that every endpoint of this kind can give. */
const commonRefusals = ({ needs, params, body, rawBody }: Description): RefusalCode[] => [
  "invalid_request",
  "uri_too_long",
  "rate_limited",
  // An empty name in a path makes another path, which is unknown.
  ...(params === undefined ? [] : (["not_found"] as const)),
  ...(body === undefined && rawBody === undefined
    ? []
    : (["payload_too_large", "unsupported_media_type", "request_timeout"] as const)),
  ...(needs === "none"
    ? []
    : ([...UNAUTHORIZED, "forbidden", "overloaded", "storage_full", "tenant_unavailable"] as const)),
  ...(needs === "none" || needs === "root" ? [] : (["tenant_moved"] as const)),
];

const OCTETS = "application/octet-stream";
const BYTES: JsonSchema = { type: "string", format: "binary" };

type Media = Record<string, { readonly schema: JsonSchema }>;

/** An event stream is text, whatever its events contain; a form has fields of its own; other bytes have no schema. */
const contentOf = (media: readonly string[], schema: JsonSchema, form = schema): Media => {
  const schemaOf = (type: string): JsonSchema => {
    if (type.startsWith("text/")) return { type: "string" };
    if (type.startsWith("multipart/")) return form;
    return type === OCTETS ? BYTES : schema;
  };
  return Object.fromEntries(media.map((type) => [type, { schema: schemaOf(type) }]));
};

type Headers = Record<string, { readonly description: string; readonly schema: JsonSchema }>;

export interface ResponseObject {
  readonly description: string;
  readonly headers?: Headers;
  readonly content?: Media;
}

const headersOf = (says: Readonly<Record<string, string>>): { headers?: Headers } => {
  const told = Object.entries(says).map(([name, description]) => [name, { description, schema: { type: "string" } }]);
  return told.length === 0 ? {} : { headers: Object.fromEntries(told) };
};

const REPLAYED = { "Idempotency-Replayed": "`true` if this is the first answer, repeated" };
const RETRY_AFTER = { "Retry-After": "seconds to wait before the next try" };

const responsesOf = (description: Description, book: SchemaBook): Record<string, ResponseObject> => {
  const responses: Record<string, ResponseObject> = {};
  const isReplayable = description.headers?.shape["idempotency-key"] !== undefined;
  for (const [status, answer] of Object.entries(description.answers)) {
    const { description: says, schema, headers = {} } = answer;
    const media = answer.media ?? (schema === undefined ? [] : ["application/json"]);
    const more = isReplayable && Number(status) < 300 ? REPLAYED : {};
    const bodySchema = schema === undefined ? {} : book.answer(schema);
    const content = media.length === 0 ? {} : { content: contentOf(media, bodySchema) };
    responses[status] = { description: says, ...headersOf({ ...headers, ...more }), ...content };
  }
  const refusals = new Set([...commonRefusals(description), ...(description.refuses ?? [])]);
  for (const [status, codes] of Map.groupBy(refusals, (code) => WIRE[code].status))
    responses[String(status)] = either(responses[String(status)], refusedWith(codes, description, book));
  return responses;
};

/** A page of the endpoint's own and a refusal may have the same status: the media type tells them apart. */
const either = (own: ResponseObject | undefined, refused: ResponseObject): ResponseObject =>
  own === undefined ? refused : { ...refused, ...own, content: { ...refused.content, ...own.content } };

/** One status that an endpoint refuses with, and the codes that can be given with it. */
const refusedWith = (codes: readonly RefusalCode[], { errorSchema }: Description, book: SchemaBook): ResponseObject => {
  const titles = [...new Set(codes.map((code) => WIRE[code].title))].join("; ");
  const mayRetry = codes.some((code) => WIRE[code].retryAfter !== undefined);
  const says = { description: titles, ...headersOf(mayRetry ? RETRY_AFTER : {}) };
  if (errorSchema !== undefined) {
    // A runtime's own errors come by there with codes of their own, so the list is not closed.
    const listed = codes.map((code) => `\`${code}\``).join(", ");
    const content = contentOf(["application/json"], book.answer(errorSchema));
    return { ...says, description: `${titles}. Signalbox's own codes: ${listed}`, content };
  }
  const code: JsonSchema = { type: "string", enum: codes };
  const oneOfThese: JsonSchema = { type: "object", properties: { code }, additionalProperties: true };
  const schema: JsonSchema = { allOf: [book.answer(problemResource), oneOfThese] };
  return { ...says, content: contentOf(["application/problem+json"], schema) };
};

const bodyOf = ({ body, rawBody, isBodyOptional }: Description, book: SchemaBook): object => {
  const schema = body ?? rawBody?.schema;
  if (schema === undefined) return {};
  const form = rawBody?.form === undefined ? undefined : book.request(rawBody.form);
  const content = contentOf(rawBody?.media ?? ["application/json"], book.request(schema), form);
  return { requestBody: { required: isBodyOptional !== true, content } };
};

export interface Parameter {
  readonly name: string;
  readonly description?: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly schema: JsonSchema;
}

const parametersIn = (place: Parameter["in"], schema: z.ZodObject | undefined, book: SchemaBook): Parameter[] => {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = book.fieldsOf(book.request(schema));
  return Object.entries(properties).map(([name, one]) => {
    const { description, ...rest } = one;
    const isRequired = place === "path" || required.includes(name);
    const says = description === undefined ? {} : { description };
    return { name, in: place, required: isRequired, ...says, schema: rest };
  });
};

const VERBS: Record<Method, string> = {
  get: "list",
  post: "create",
  put: "replace",
  patch: "update",
  delete: "delete",
};

/** `GET /api/jobs/{id}/events` becomes `listJobEvents`: a name before a parameter is singular. */
export const operationIdOf = (method: Method, path: string): string => {
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== "api");
  const words = segments.flatMap((segment, index) => {
    if (segment.startsWith("{")) return [];
    const noun =
      segments[index + 1]?.startsWith("{") === true ? segment.replace(/ies$/, "y").replace(/s$/, "") : segment;
    return noun.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  });
  const isOne = segments.at(-1)?.startsWith("{") === true;
  const verb = method === "get" && (isOne || words.at(-1)?.endsWith("s") !== true) ? "get" : VERBS[method];
  return verb + words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join("");
};

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly [string];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Media };
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

const operationOf = (description: Description, book: SchemaBook): Operation => {
  const { method, path, operationId = operationIdOf(method, path), summary, tag, needs } = description;
  return {
    operationId,
    summary,
    description: [description.description, describeNeeds(needs)].filter((part) => part !== undefined).join("\n\n"),
    tags: [tag],
    ...{ security: needs === "none" ? [] : [{ bearer: [] }] },
    parameters: [
      ...parametersIn("path", description.params, book),
      ...parametersIn("query", description.query, book),
      ...parametersIn("header", description.headers, book),
    ],
    ...bodyOf(description, book),
    responses: responsesOf(description, book),
  };
};

/** Schemas that no endpoint references: the sockets' messages, and a job's input. */
const noteUnnamed = (book: SchemaBook): void => {
  for (const schema of [workerMessage, jobInput]) book.request(schema);
  for (const schema of [coordinatorMessage, liveMessage, readerGone, readerTook]) book.answer(schema);
};

/** Refusals that come before an operation is found, so none lists them. */
const OF_NO_OPERATION =
  "Beside the errors of each operation: `method_not_allowed` (405) for a path that has other methods, which `Allow` names, and `headers_too_large` (431).";

export const openApiDocument = (endpoints: readonly Endpoint[], version: string): OpenApiDocument => {
  const book = new SchemaBook();
  noteUnnamed(book);
  const paths: Record<string, Record<string, Operation>> = {};
  for (const { description } of endpoints) {
    const operations = paths[description.path] ?? {};
    paths[description.path] = { ...operations, [description.method]: operationOf(description, book) };
  }
  const head = {
    openapi: "3.1.0",
    info: {
      title: "Signalbox",
      version,
      description: `A job router for AI workers: accepts jobs and gives each to the best available worker.\n\n${OF_NO_OPERATION}`,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    tags: [...new Set(endpoints.map(({ description }) => description.tag))].map((name) => ({ name })),
  };
  const securitySchemes = { bearer: { type: "http", scheme: "bearer" } };
  return book.finish((schemas) => ({ ...head, paths, components: { securitySchemes, schemas } }));
};
