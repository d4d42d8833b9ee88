// The service itself.

import { type CallOptions, pathOf, type Transport } from "./transport.ts";

export interface Health {
  readonly status: string;
  readonly version: string;
  /** What an operator should look at. */
  readonly warnings?: readonly string[];
}

export const serviceVerbs = (transport: Transport) => ({
  health: (options?: CallOptions) => transport.get<Health>("/health", options),
  /** Prometheus text. */
  metrics: (options?: CallOptions) => transport.text({ method: "GET", path: "/metrics", options }),
  openapi: (options?: CallOptions) => transport.get<Record<string, unknown>>("/openapi.json", options),
  /** The API reference as HTML: its index, or the hits of a search (`q`). */
  docs: (query: { q?: string } = {}, options?: CallOptions) =>
    transport.text({ method: "GET", path: "/docs", query, options }),
  /** A page of the API reference as HTML. */
  docsPage: (page: string, options?: CallOptions) =>
    transport.text({ method: "GET", path: pathOf`/docs/${page}`, options }),
});
