// The archive's days, for other tools.

import { archiveDayParam, archiveList, archiveQuery } from "../../contract/archive.ts";
import { notFound } from "../../domain/words/refusal.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import { exportDay, listDays } from "../history/archive/export.ts";
import { archiveOf } from "../history/archive/store.ts";
import { historyOf } from "../history/databases.ts";
import { answer, answerBody } from "../http/answer.ts";
import { Refused } from "../http/refused.ts";
import { ask } from "../tenant/ask.ts";
import { asks } from "../tenant/asks.ts";

const BASE = { method: "get", lane: "heavy", tag: "Archive" } as const;
const MEDIA = "application/gzip";

const list = endpoint(
  {
    ...BASE,
    ...asks("authorizeRead", "history_unavailable"),
    operationId: "listArchivedDays",
    path: "/api/archive",
    summary: "List the archive's days, newest first",
    query: archiveQuery,
    answers: { 200: { description: "A page of days.", schema: archiveList } },
  },
  async (c, { query, token }) => {
    await ask(c, token, "authorizeRead", null);
    const { limit, offset } = query;
    return answer(c, { ...(await listDays(historyOf(c.env, token), query)), limit, offset });
  },
);

const exported = endpoint(
  {
    ...BASE,
    ...asks("authorizeRead", "not_found", "history_unavailable", "archive_damaged"),
    operationId: "exportArchivedDay",
    path: "/api/archive/{day}",
    summary: "Export the archived jobs of a day",
    description:
      "A gzip file with a JSON line for each job. A job that changed while it was archived has two: the higher `version` counts.",
    params: archiveDayParam,
    answers: { 200: { description: "The jobs.", media: [MEDIA] } },
  },
  async (c, { params: { day }, token }) => {
    await ask(c, token, "authorizeRead", null);
    const archive = archiveOf(c.env);
    const bytes = archive === null ? null : await exportDay(historyOf(c.env, token), archive, day);
    if (bytes === null) throw new Refused(notFound("archived day", day));
    return answerBody(c, bytes, {
      "content-type": MEDIA,
      "content-disposition": `attachment; filename="${token.tenant}-${day}.ndjson.gz"`,
    });
  },
);

export const archiveRoutes: readonly Endpoint[] = [list, exported];
