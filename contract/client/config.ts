// The config, as a document or as YAML.

import type { ConfigDocument, ConfigRequest } from "../config/config.ts";
import { type Call, type CallOptions, RawBody, type Tagged, type Transport } from "./transport.ts";

export interface StoredConfig<Document> {
  readonly document: Document;
  /** Pass it as `ifMatch` to avoid overwriting another change. */
  readonly etag: string | null;
}

export interface ReplaceOptions extends CallOptions {
  readonly ifMatch?: string | null | undefined;
  /** Validates only; nothing is stored. */
  readonly isDryRun?: boolean | undefined;
}

const JSON_TYPE = "application/json";
const YAML = "application/yaml";

const stored = <Document>({ content, etag }: Tagged<Document>): StoredConfig<Document> => ({ document: content, etag });

const reading = (accept: string, options?: CallOptions): Call => ({
  method: "GET",
  path: "/config",
  headers: { accept },
  options,
});

const replacing = (body: unknown, accept: string, { ifMatch, isDryRun, ...options }: ReplaceOptions = {}): Call => ({
  method: "PUT",
  path: "/config",
  query: { dry_run: isDryRun },
  body,
  headers: { accept, "if-match": ifMatch ?? undefined },
  options,
});

export const configVerbs = (transport: Transport) => {
  const document = async (call: Call) => stored(await transport.jsonWithTag<ConfigDocument>(call));
  const text = async (call: Call) => stored(await transport.textWithTag(call, YAML));
  return {
    get: (options?: CallOptions) => document(reading(JSON_TYPE, options)),
    getYaml: (options?: CallOptions) => text(reading(YAML, options)),
    replace: (config: ConfigRequest, options?: ReplaceOptions) => document(replacing(config, JSON_TYPE, options)),
    replaceYaml: (yaml: string, options?: ReplaceOptions) => text(replacing(new RawBody(yaml, YAML), YAML, options)),
    /** Answers with the document. */
    replaceWithYaml: (yaml: string, options?: ReplaceOptions) =>
      document(replacing(new RawBody(yaml, YAML), JSON_TYPE, options)),
  };
};
