// The audit log.

import { auditList, auditQuery } from "../../contract/audit.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import { listAudit } from "../history/audit.ts";
import { historyOf } from "../history/databases.ts";
import { answer } from "../http/answer.ts";
import { askAndDrain } from "../tenant/ask.ts";
import { asks } from "../tenant/asks.ts";

const audit = endpoint(
  {
    method: "get",
    path: "/api/audit",
    lane: "heavy",
    tag: "Audit log",
    ...asks("authorizeAdmin", "history_unavailable"),
    summary: "List administrative changes, newest first",
    query: auditQuery,
    answers: { 200: { description: "A page of audit entries, newest first.", schema: auditList } },
  },
  async (c, { query, token }) => {
    await askAndDrain(c, token, "authorizeAdmin", null);
    return answer(c, {
      ...(await listAudit(historyOf(c.env, token), query)),
      limit: query.limit,
      offset: query.offset,
    });
  },
);

export const auditRoutes: readonly Endpoint[] = [audit];
