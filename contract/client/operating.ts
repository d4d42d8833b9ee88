// For operators: killswitch, config, cost, and the service itself.

import type { ConfigDocument, ConfigRequest } from "../config.ts";
import type { CostByGroup, CostByProvider, CostQuery, CostSummary } from "../cost.ts";
import type { KillswitchRequest, KillswitchResource } from "../killswitch.ts";
import { type CallOptions, pathOf, type QueryOf, TextBody, type Transport } from "./transport.ts";

export const killswitchVerbs = (transport: Transport) => ({
  get: (options?: CallOptions) => transport.json<KillswitchResource>({ method: "GET", path: "/killswitch", options }),
  engage: (halt: KillswitchRequest, options?: CallOptions) =>
    transport.json<KillswitchResource>({
      method: "POST",
      path: "/killswitch",
      body: halt,
      repeats: "safe",
      options,
    }),
  clear: (query: { resume_all?: boolean | undefined } = {}, options?: CallOptions) =>
    transport.json<KillswitchResource>({ method: "DELETE", path: "/killswitch", query, repeats: "safe", options }),
});

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
      textOf(await replace(new TextBody(yaml, YAML), YAML, options)),
  };
};

export const costVerbs = (transport: Transport) => ({
  summary: (query: QueryOf<CostQuery> = {}, options?: CallOptions) =>
    transport.json<CostSummary>({ method: "GET", path: "/api/cost", query, options }),
  byProvider: (query: QueryOf<CostQuery> = {}, options?: CallOptions) =>
    transport.json<CostByProvider>({ method: "GET", path: "/api/cost/providers", query, options }),
  /** By provider, model, tag, key, worker, schedule or metadata.<name>. */
  by: (group: string, query: QueryOf<CostQuery> = {}, options?: CallOptions) =>
    transport.json<CostByGroup>({ method: "GET", path: pathOf`/api/cost/by/${group}`, query, options }),
});

export interface Health {
  readonly status: string;
  readonly version: string;
}

export const serviceVerbs = (transport: Transport) => ({
  health: (options?: CallOptions) => transport.json<Health>({ method: "GET", path: "/health", options }),
  /** Prometheus text. */
  metrics: (options?: CallOptions) => transport.text({ method: "GET", path: "/metrics", options }),
  openapi: (options?: CallOptions) =>
    transport.json<Record<string, unknown>>({ method: "GET", path: "/openapi.json", options }),
  /** The API reference as an HTML page. */
  docs: (options?: CallOptions) => transport.text({ method: "GET", path: "/docs", options }),
});
