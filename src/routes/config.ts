// The tenant's configuration, as JSON or YAML.

import { stringify } from "yaml";
import * as z from "zod";
import { type ConfigDocument, configDocument } from "../../contract/config/config.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import type { AppContext } from "../http/auth.ts";
import { digestOf } from "../http/key-format.ts";
import { ask } from "../tenant/ask.ts";
import { asks } from "../tenant/asks.ts";
import { isJson, isYaml, readDocument } from "./config-document.ts";

const DOCUMENT_TYPES = ["application/json", "application/yaml"] as const;
const ETAG_CHARS = 32;

const BASE = { path: "/config", tag: "Config" } as const;
const ETAG = { headers: { ETag: "names this version of the config" } } as const;

const qualityOf = (type: string): number => Number(/;\s*q=([\d.]+)/i.exec(type)?.[1] ?? 1);

/** Of JSON and YAML the one that is liked best, of equals the first; empty if neither is named. */
const wantedType = (accept: string): string =>
  accept
    .split(",")
    .filter((type) => isYaml(type) || isJson(type))
    .sort((one, other) => qualityOf(other) - qualityOf(one))[0] ?? "";

const answerWith = (c: AppContext, document: ConfigDocument, etag: string): Response => {
  c.header("etag", etag);
  c.header("vary", "accept");
  if (!isYaml(wantedType(c.req.header("accept") ?? ""))) return c.json(document);
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
      200: { ...ETAG, description: "The config.", schema: configDocument, media: DOCUMENT_TYPES },
      304: { ...ETAG, description: "Unchanged." },
    },
  },
  async (c, { token }) => {
    const { document, etag } = await ask(c, token, "readConfig", null);
    if (etagsIn(c.req.header("if-none-match")).some((known) => known === etag || known === "*"))
      return c.body(null, 304, { etag });
    return answerWith(c, document, etag);
  },
);

const dryRunQuery = z.strictObject({
  dry_run: z.enum(["true", "false"]).default("false").meta({ description: "true: validates, and stores nothing" }),
});

/** `rawBody` is only for the document: the body may be YAML, so the handler parses it. */
const replace = endpoint(
  {
    ...BASE,
    method: "put",
    lane: "heavy",
    ...asks("replaceConfig"),
    summary: "Replace the config",
    description:
      "JSON or YAML by `Content-Type`; missing settings get their defaults; missing times of heartbeats, reaping and offline fit the given ones.",
    query: dryRunQuery,
    headers: z.object({
      "if-match": z.string().optional().meta({ description: "the ETag that was read; 412 if it is no longer current" }),
    }),
    rawBody: { schema: configDocument, media: DOCUMENT_TYPES },
    answers: {
      200: {
        ...ETAG,
        description: "The config that is now in force, or would be.",
        schema: configDocument,
        media: DOCUMENT_TYPES,
      },
    },
  },
  async (c, { query, token }) => {
    const document = await readDocument(c);
    const etag = `"${(await digestOf(JSON.stringify(document))).slice(0, ETAG_CHARS)}"`;
    const condition = c.req.header("if-match");
    const ifMatch = condition === undefined ? null : etagsIn(condition);
    const isDryRun = query.dry_run === "true";
    const stored = await ask(c, token, "replaceConfig", { document, etag, ifMatch, isDryRun });
    return answerWith(c, stored.document, stored.etag);
  },
);

export const configRoutes: readonly Endpoint[] = [read, replace];
