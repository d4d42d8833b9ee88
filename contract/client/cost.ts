// What the work costs.

import type { CostByGroup, CostByProvider, CostQuery, CostSummary } from "../cost.ts";
import { type CallOptions, pathOf, type QueryOf, type Transport } from "./transport.ts";

export const costVerbs = (transport: Transport) => ({
  summary: (query: QueryOf<CostQuery> = {}, options?: CallOptions) =>
    transport.get<CostSummary>("/api/cost", options, query),
  byProvider: (query: QueryOf<CostQuery> = {}, options?: CallOptions) =>
    transport.get<CostByProvider>("/api/cost/providers", options, query),
  /** By provider, model, tag, key, worker, schedule or metadata.<name>. */
  by: (group: string, query: QueryOf<CostQuery> = {}, options?: CallOptions) =>
    transport.get<CostByGroup>(pathOf`/api/cost/by/${group}`, options, query),
});
