// The cost of the tenant's work.

import { costByGroup, costByProvider, costGroupParam, costQuery, costSummary } from "../../contract/cost.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import * as history from "../history/cost.ts";
import { historyOf } from "../history/databases.ts";
import { answer } from "../http/answer.ts";
import { askAndDrain } from "../tenant/ask.ts";
import { asks } from "../tenant/asks.ts";

const BASE = {
  method: "get",
  tag: "Cost",
  lane: "heavy",
  ...asks("readBudgets", "history_unavailable"),
  operationId: undefined,
  query: costQuery,
  description: "A week is an ISO week. A span has at most 92 days.",
} as const;

const summary = endpoint(
  {
    ...BASE,
    path: "/api/cost",
    summary: "Read the cost of today, this week, this month or any span",
    answers: {
      200: {
        description: "Totals in US dollars, a series over time, the total of the period before, and the budgets.",
        schema: costSummary,
      },
    },
  },
  async (c, { query, token }) => {
    const budgets = await askAndDrain(c, token, "readBudgets", null);
    return answer(c, {
      ...(await history.costSummary(historyOf(c.env, token), query, Date.now())),
      ...budgets,
    });
  },
);

const byProvider = endpoint(
  {
    ...BASE,
    path: "/api/cost/providers",
    summary: "Read the cost by provider and model",
    answers: {
      200: { description: "Totals by provider in US dollars, most expensive first.", schema: costByProvider },
    },
  },
  async (c, { query, token }) => {
    const budgets = await askAndDrain(c, token, "readBudgets", null);
    return answer(c, {
      ...(await history.costByProvider(historyOf(c.env, token), query, Date.now())),
      ...budgets,
    });
  },
);

const byGroup = endpoint(
  {
    ...BASE,
    path: "/api/cost/by/{by}",
    summary: "Read the cost by provider, model, tag, metadata, key, worker or schedule",
    description: `${BASE.description} An unknown name is 400.`,
    params: costGroupParam,
    isNameNew: true,
    answers: { 200: { description: "Totals by value in US dollars, most expensive first.", schema: costByGroup } },
  },
  async (c, { params, query, token }) => {
    const budgets = await askAndDrain(c, token, "readBudgets", null);
    const found = await history.costByGroup(historyOf(c.env, token), params.by, query, Date.now());
    return answer(c, { ...found, ...budgets });
  },
);

export const costRoutes: readonly Endpoint[] = [summary, byProvider, byGroup];
