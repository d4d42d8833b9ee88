// The OpenAPI document, made from the same endpoint descriptions that validate and mount.

import { OpenAPIRegistry, OpenApiGeneratorV31 } from "@asteasolutions/zod-to-openapi";
import * as z from "zod";
import { problemResource } from "../../contract/problem.ts";
import { WIRE } from "../../contract/refusal.ts";
import { rolesWith } from "../../domain/key.ts";
import type { RefusalCode } from "../../domain/refusal.ts";
import type { Description, Endpoint, Method, Needs } from "./router.ts";

const PROBLEM = { "application/problem+json": { schema: problemResource } };

/** Which key a caller needs, as a sentence. */
export const describeNeeds = (needs: Needs): string => {
  if (needs === "none") return "Needs no key.";
  if (needs === "root") return "Needs the operator's root key.";
  const roles = new Intl.ListFormat("en", { type: "disjunction" }).format(rolesWith(needs));
  return `Needs a key with role ${roles}.`;
};

/** What an endpoint of this kind may answer beside what it lists itself. */
const commonRefusals = ({ needs, body, rawBody }: Description): RefusalCode[] => [
  "invalid_request",
  "rate_limited",
  ...(body === undefined && rawBody === undefined
    ? []
    : (["payload_too_large", "unsupported_media_type", "request_timeout"] as const)),
  ...(needs === "none"
    ? []
    : (["authentication_failed", "forbidden", "overloaded", "storage_full", "tenant_unavailable"] as const)),
];

/** An event stream is text, whatever its events carry. */
const schemaAs = (media: string, schema: z.ZodType | undefined) => (media.startsWith("text/") ? z.string() : schema);

const responsesOf = (description: Description): Record<string, object> => {
  const responses: Record<string, object> = {};
  for (const [status, { description: says, schema, media }] of Object.entries(description.answers)) {
    const content = Object.fromEntries(
      (media ?? ["application/json"]).map((type) => [type, { schema: schemaAs(type, schema) }]),
    );
    responses[status] = { description: says, ...(schema === undefined ? {} : { content }) };
  }
  const { errorSchema } = description;
  const errors = errorSchema === undefined ? PROBLEM : { "application/json": { schema: errorSchema } };
  for (const code of [...commonRefusals(description), ...(description.refuses ?? [])]) {
    const status = String(WIRE[code].status);
    responses[status] ??= { description: WIRE[code].title, content: errors };
  }
  return responses;
};

const bodyOf = ({ body, rawBody, isBodyOptional }: Description): object => {
  if (rawBody !== undefined) {
    const content = Object.fromEntries(rawBody.media.map((media) => [media, { schema: rawBody.schema }]));
    return { body: { required: true, content } };
  }
  if (body === undefined) return {};
  return { body: { required: isBodyOptional !== true, content: { "application/json": { schema: body } } } };
};

const VERBS: Record<Method, string> = {
  get: "list",
  post: "create",
  put: "replace",
  patch: "update",
  delete: "delete",
};

/** `GET /api/jobs/{id}/events` is `listJobEvents`; what stands before a parameter is one of its kind. */
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

export const openApiDocument = (endpoints: readonly Endpoint[], version: string): object => {
  const registry = new OpenAPIRegistry();
  const bearer = registry.registerComponent("securitySchemes", "bearer", { type: "http", scheme: "bearer" });
  for (const { description } of endpoints) {
    const {
      method,
      path,
      operationId = operationIdOf(method, path),
      summary,
      tag,
      needs,
      params,
      query,
      headers,
    } = description;
    registry.registerPath({
      method,
      path,
      operationId,
      summary,
      tags: [tag],
      description: [description.description, describeNeeds(needs)].filter((part) => part !== undefined).join("\n\n"),
      security: needs === "none" ? [] : [{ [bearer.name]: [] }],
      request: {
        ...(params === undefined ? {} : { params }),
        ...(query === undefined ? {} : { query }),
        ...(headers === undefined ? {} : { headers }),
        ...bodyOf(description),
      },
      responses: responsesOf(description),
    } as Parameters<OpenAPIRegistry["registerPath"]>[0]);
  }
  return new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: "3.1.0",
    info: {
      title: "Signalbox",
      version,
      description: "A job router for AI workers: accepts jobs and gives each to the best available worker.",
    },
    servers: [{ url: "/" }],
  });
};
