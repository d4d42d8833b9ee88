// What the work costs.

import type { CostByGroup, CostByProvider, CostQuery, CostSummary } from "../cost.ts";
import { type CallOptions, pathOf, type QueryOf, type Transport } from "./transport.ts";

export const costVerbs = (transport: Transport) => ({
  summary: (query: QueryOf<CostQuery> = {}, options?: CallOptions) =>
    transport.json<CostSummary>({ method: "GET", path: "/api/cost", query, options }),
  byProvider: (query: QueryOf<CostQuery> = {}, options?: CallOptions) =>
    transport.json<CostByProvider>({ method: "GET", path: "/api/cost/providers", query, options }),
  /** By provider, model, tag, key, worker, schedule or metadata.<name>. */
  by: (group: string, query: QueryOf<CostQuery> = {}, options?: CallOptions) =>
    transport.json<CostByGroup>({ method: "GET", path: pathOf`/api/cost/by/${group}`, query, options }),
});
