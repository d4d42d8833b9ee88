// The tenant's configuration, as JSON or YAML.

import { type Document, isScalar, parseDocument, stringify, visit } from "yaml";
import * as z from "zod";
import { type ConfigDocument, configDocument } from "../../contract/config.ts";
import { configRequest, withFittingTimes } from "../../contract/config-times.ts";
import { refusalOf } from "../../contract/validation.ts";
import { invalid } from "../../domain/refusal.ts";
import { asks } from "../http/asks.ts";
import type { AppContext } from "../http/auth.ts";
import { parseJson, readText } from "../http/body.ts";
import { digest } from "../http/key-format.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { type Endpoint, endpoint } from "../http/router.ts";
import { callTenant } from "../http/tenant.ts";

const MAX_CONFIG_BYTES = 64 * 1024;
const YAML_TYPES = ["application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"];
const DOCUMENT_TYPES = ["application/json", "application/yaml"] as const;
const MAX_YAML_INDENT = 64;
const MAX_YAML_BRACKETS = 16;
const ETAG_CHARS = 32;

const BASE = { path: "/config", tag: "Config" } as const;

const bare = (mediaType: string): string => mediaType.split(";")[0]?.trim().toLowerCase() ?? "";
const isYaml = (mediaType: string): boolean => YAML_TYPES.includes(bare(mediaType));
const isJson = (mediaType: string): boolean => bare(mediaType) === "application/json";

const answerWith = (c: AppContext, document: ConfigDocument, etag: string): Response => {
  c.header("etag", etag);
  c.header("vary", "accept");
  const wanted = (c.req.header("accept") ?? "").split(",");
  if (!isYaml(wanted.find((type) => isYaml(type) || isJson(type)) ?? "")) return c.json(document);
  c.header("content-type", "application/yaml; charset=utf-8");
  return c.body(stringify(document, { sortMapEntries: false }));
};

/** The entity tags in a condition header. A proxy that compresses answers makes tags weak; they still count. */
const etagsIn = (header: string | undefined): string[] =>
  (header ?? "")
    .split(",")
    .map((tag) => tag.trim().replace(/^W\//, ""))
    .filter((tag) => tag !== "");

const read = endpoint(
  {
    ...BASE,
    method: "get",
    ...asks("readConfig"),
    summary: "Read the config",
    description:
      "Includes all defaults. Returns YAML with `Accept: application/yaml`; `If-None-Match` with the current ETag answers 304.",
    headers: z.object({ "if-none-match": z.string().optional().meta({ description: "the ETag that is known" }) }),
    answers: {
      200: { description: "The config, with its ETag in a header.", schema: configDocument, media: DOCUMENT_TYPES },
      304: { description: "Unchanged." },
    },
  },
  async (c, { token }) => {
    const { document, etag } = unwrap(await callTenant(c.env, token, "readConfig", null));
    if (etagsIn(c.req.header("if-none-match")).some((known) => known === etag || known === "*"))
      return c.body(null, 304, { etag });
    return answerWith(c, document, etag);
  },
);

const dryRunQuery = z.strictObject({ dry_run: z.enum(["true", "false"]).default("false") });

/** `rawBody` is only for the document: the body may be YAML, so the handler parses it. */
const replace = endpoint(
  {
    ...BASE,
    method: "put",
    ...asks("replaceConfig"),
    summary: "Replace the config",
    description:
      "JSON or YAML by `Content-Type`; missing settings get their defaults, except that missing times of heartbeats, reaping and offline are fitted to the given ones. With `If-Match` and the ETag, a config changed in the meantime is not overwritten. `?dry_run=true` validates and stores nothing.",
    query: dryRunQuery,
    headers: z.object({
      "if-match": z.string().optional().meta({ description: "the ETag that was read; 412 if it is no longer current" }),
    }),
    rawBody: { schema: configDocument, media: DOCUMENT_TYPES },
    answers: {
      200: {
        description: "The config that is now in force, or would be.",
        schema: configDocument,
        media: DOCUMENT_TYPES,
      },
    },
  },
  async (c, { query, token }) => {
    const document = await readDocument(c);
    const etag = `"${(await digest(JSON.stringify(document))).slice(0, ETAG_CHARS)}"`;
    const condition = c.req.header("if-match");
    const ifMatch = condition === undefined ? null : etagsIn(condition);
    const isDryRun = query.dry_run === "true";
    const stored = unwrap(await callTenant(c.env, token, "replaceConfig", { document, etag, ifMatch, isDryRun }));
    return answerWith(c, stored.document, stored.etag);
  },
);

const readDocument = async (c: AppContext): Promise<ConfigDocument> => {
  const mediaType = c.req.header("content-type") ?? "";
  if (!isJson(mediaType) && !isYaml(mediaType)) {
    throw new Refused({ code: "unsupported_media_type", expected: "application/json or application/yaml" });
  }
  const text = await readText(c, MAX_CONFIG_BYTES);
  // An empty body is a mistake, not a request for every default; that would be `{}`.
  if (text.trim() === "") throw new Refused(invalid("", "a body is required: the whole config, as JSON or YAML"));
  const given = isJson(mediaType) ? parseJson(text) : parseYaml(text);
  const reserved = reservedPath(given);
  if (reserved !== null) throw new Refused(invalid(reserved, 'is a reserved name: "__proto__"'));
  const parsed = configRequest.safeParse(withFittingTimes(given));
  if (parsed.success) return parsed.data;
  throw new Refused(refusalOf(configDocument, parsed.error, given));
};

/** The path of a field named `__proto__`, which the schemas would drop silently; null if there is none. */
const reservedPath = (value: unknown, path: readonly string[] = []): string | null => {
  if (typeof value !== "object" || value === null) return null;
  for (const [key, inner] of Object.entries(value)) {
    const at = [...path, key];
    const found = key === "__proto__" ? at.join(".") : reservedPath(inner, at);
    if (found !== null) return found;
  }
  return null;
};

/** YAML from outside: no aliases, custom tags or deep nesting, one document, only plain values. */
const parseYaml = (text: string): unknown => {
  if (isTooDeep(text)) throw new Refused(invalid("", "the YAML is nested too deeply for a config"));
  try {
    // The library's own search for duplicate keys compares every pair: thousands of keys would take seconds.
    const document = parseDocument(text, { schema: "core", strict: true, uniqueKeys: false, prettyErrors: true });
    const problem = document.errors[0] ?? document.warnings[0] ?? repeatedKey(document);
    if (problem !== undefined) throw problem;
    return document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    throw new Refused(invalid("", `the body must be YAML: ${(error as Error).message.split("\n")[0]?.slice(0, 200)}`));
  }
};

const repeatedKey = (document: Document): Error | undefined => {
  let found: Error | undefined;
  visit(document, {
    Map: (_, { items }) => {
      const seen = new Set<string>();
      for (const { key } of items) {
        const name = String(isScalar(key) ? key.value : key);
        if (seen.has(name)) found ??= new Error(`the key ${JSON.stringify(name.slice(0, 64))} appears twice`);
        seen.add(name);
      }
    },
  });
  return found;
};

/** Checked before a parser recurses: nesting by indentation, by `- - -` on one line, or by brackets. */
const isTooDeep = (text: string): boolean => {
  if (text.split("\n").some((line) => (/^[\s?-]*/.exec(line)?.[0].length ?? 0) > MAX_YAML_INDENT)) return true;
  let depth = 0;
  for (const char of text) {
    if (char === "[" || char === "{") depth += 1;
    else if (char === "]" || char === "}") depth = Math.max(0, depth - 1);
    if (depth > MAX_YAML_BRACKETS) return true;
  }
  return false;
};

export const configRoutes: readonly Endpoint[] = [read, replace];
