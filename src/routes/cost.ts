// What the tenant's work cost.

import { costByProvider, costQuery, costSummary } from "../../contract/cost.ts";
import * as history from "../history/cost.ts";
import { answer } from "../http/answer.ts";
import { unwrap } from "../http/refused.ts";
import { type Endpoint, endpoint } from "../http/router.ts";
import { callTenant, drainTenant } from "../http/tenant.ts";

const BASE = {
  method: "get",
  tag: "Cost",
  needs: "observe",
  query: costQuery,
  refuses: ["history_unavailable"],
  description: "Periods are calendar days, ISO weeks and months in UTC, up to now.",
} as const;

const summary = endpoint(
  {
    ...BASE,
    path: "/api/cost",
    summary: "Cost of today, this week or this month",
    answers: { 200: { description: "Sums, a series to draw, and the period before.", schema: costSummary } },
  },
  async (c, { query, token }) => {
    const budget = unwrap(await callTenant(c.env, token, "readBudget", null));
    await drainTenant(c.env, token);
    return answer(c, { ...(await history.costSummary(c.env.DB, token.tenant, query.period, Date.now())), budget });
  },
);

const byProvider = endpoint(
  {
    ...BASE,
    path: "/api/cost/providers",
    summary: "Cost by provider and model",
    answers: { 200: { description: "Most expensive first.", schema: costByProvider } },
  },
  async (c, { query, token }) => {
    const budget = unwrap(await callTenant(c.env, token, "readBudget", null));
    await drainTenant(c.env, token);
    return answer(c, { ...(await history.costByProvider(c.env.DB, token.tenant, query.period, Date.now())), budget });
  },
);

export const costRoutes: readonly Endpoint[] = [summary, byProvider];
