// The tenant's configuration, as JSON or YAML.

import { parse, stringify } from "yaml";
import { z } from "zod";
import { invalid } from "../../domain/refusal.ts";
import { type ConfigDocument, configDocument } from "../contract/config.ts";
import { fieldErrorsOf } from "../contract/validation.ts";
import { type AppContext, authenticateCaller } from "../http/auth.ts";
import { parseJson, readText } from "../http/body.ts";
import { digest } from "../http/key-format.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { type Endpoint, endpoint } from "../http/router.ts";
import { callTenant } from "../http/tenant.ts";

const MAX_CONFIG_BYTES = 64 * 1024;
const YAML_TYPES = ["application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"];
const MAX_YAML_INDENT = 64;
const ETAG_CHARS = 32;

const BASE = { path: "/config", tag: "Config" } as const;

const isYaml = (mediaType: string): boolean => YAML_TYPES.includes(mediaType.split(";")[0]?.trim().toLowerCase() ?? "");

const answerWith = (c: AppContext, document: ConfigDocument, etag: string): Response => {
  c.header("etag", etag);
  c.header("vary", "accept");
  const wanted = (c.req.header("accept") ?? "").split(",");
  if (!wanted.some(isYaml)) return c.json(document);
  c.header("content-type", "application/yaml; charset=utf-8");
  return c.body(stringify(document, { sortMapEntries: false }));
};

const read = endpoint(
  {
    ...BASE,
    method: "get",
    access: "worker",
    summary: "Read the config",
    description:
      "Every default visible. YAML with `Accept: application/yaml`; `If-None-Match` with the ETag answers 304.",
    answers: { 200: { description: "The config.", schema: configDocument }, 304: { description: "Unchanged." } },
  },
  async (c) => {
    const token = await authenticateCaller(c);
    const { document, etag } = unwrap(await callTenant(c.env, token, "readConfig", null));
    if (c.req.header("if-none-match") === etag) return c.body(null, 304, { etag });
    return answerWith(c, document, etag);
  },
);

const dryRunQuery = z.strictObject({ dry_run: z.enum(["true", "false"]).default("false") });

/**
 * The body stands in the description for the document alone: it may be YAML, so it is read here.
 */
const replace = endpoint(
  {
    ...BASE,
    method: "put",
    access: "admin",
    summary: "Replace the config",
    description:
      "JSON or YAML by `Content-Type`; what is left out takes its default. `If-Match` with the ETag refuses to overwrite somebody else's change; `?dry_run=true` only says what would hold.",
    query: dryRunQuery,
    rawBody: { schema: configDocument, media: ["application/json", "application/yaml"] },
    answers: { 200: { description: "The config as it holds now.", schema: configDocument } },
    refuses: ["etag_mismatch", "killswitch_active"],
  },
  async (c, { query }) => {
    const token = await authenticateCaller(c);
    const document = await readDocument(c);
    const etag = `"${(await digest(JSON.stringify(document))).slice(0, ETAG_CHARS)}"`;
    if (query.dry_run === "true") {
      unwrap(await callTenant(c.env, token, "authorizeAdmin", null));
      return answerWith(c, document, etag);
    }
    const ifMatch = c.req.header("if-match") ?? null;
    const stored = unwrap(await callTenant(c.env, token, "replaceConfig", { document, etag, ifMatch }));
    return answerWith(c, stored.document, stored.etag);
  },
);

const readDocument = async (c: AppContext): Promise<ConfigDocument> => {
  const mediaType = c.req.header("content-type") ?? "";
  const isJson = mediaType.split(";")[0]?.trim().toLowerCase() === "application/json";
  if (!isJson && !isYaml(mediaType)) {
    throw new Refused({ code: "unsupported_media_type", expected: "application/json or application/yaml" });
  }
  const text = await readText(c.req.raw, MAX_CONFIG_BYTES);
  const given = isJson ? parseJson(text === "" ? "{}" : text) : parseYaml(text);
  const parsed = configDocument.safeParse(given ?? {});
  if (parsed.success) return parsed.data;
  const errors = fieldErrorsOf(configDocument, parsed.error, given);
  const detail = errors.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ");
  throw new Refused({ code: "invalid_request", detail, errors });
};

/** YAML from a stranger: no aliases, no deep nesting, one document, nothing but plain values. */
const parseYaml = (text: string): unknown => {
  const isDeep =
    text.split("\n").some((line) => line.search(/\S/) > MAX_YAML_INDENT) || /[[{](?:[^\]}]*[[{]){16}/.test(text);
  if (isDeep) throw new Refused(invalid("", "the YAML nests too deeply for a config"));
  try {
    return parse(text, { maxAliasCount: 0, schema: "core", strict: true, uniqueKeys: true, prettyErrors: true });
  } catch (error) {
    throw new Refused(invalid("", `the body must be YAML: ${(error as Error).message.split("\n")[0]?.slice(0, 200)}`));
  }
};

export const configRoutes: readonly Endpoint[] = [read, replace];
