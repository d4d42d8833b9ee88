// The config, as a document or as YAML.

import type { ConfigDocument, ConfigRequest } from "../config/config.ts";
import { type CallOptions, RawBody, type Transport } from "./transport.ts";

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

const YAML = "application/yaml";

export const configVerbs = (transport: Transport) => {
  const read = (accept: string, options?: CallOptions) =>
    transport.response({ method: "GET", path: "/config", headers: { accept }, options });
  const replace = (body: unknown, accept: string, { ifMatch, isDryRun, ...options }: ReplaceOptions = {}) =>
    transport.response({
      method: "PUT",
      path: "/config",
      query: { dry_run: isDryRun },
      body,
      headers: { accept, "if-match": ifMatch ?? undefined },
      options,
    });
  const documentOf = async (answer: Response): Promise<StoredConfig<ConfigDocument>> => ({
    document: (await answer.json()) as ConfigDocument,
    etag: answer.headers.get("etag"),
  });
  const textOf = async (answer: Response): Promise<StoredConfig<string>> => ({
    document: await answer.text(),
    etag: answer.headers.get("etag"),
  });
  return {
    get: async (options?: CallOptions) => documentOf(await read("application/json", options)),
    getYaml: async (options?: CallOptions) => textOf(await read(YAML, options)),
    replace: async (config: ConfigRequest, options?: ReplaceOptions) =>
      documentOf(await replace(config, "application/json", options)),
    replaceYaml: async (yaml: string, options?: ReplaceOptions) =>
      textOf(await replace(new RawBody(yaml, YAML), YAML, options)),
  };
};
