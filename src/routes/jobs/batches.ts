// Batches in Signalbox's own form. OpenAI's form: `front-door/batches.ts`; Anthropic's: `front-door/message-batches.ts`.

import { batchIdParam, batchList, batchListQuery, batchResource, presentBatch } from "../../../contract/batch.ts";
import { ownBatchId } from "../../../contract/words/field.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import { answer } from "../../http/answer.ts";
import { ask } from "../../tenant/ask.ts";
import { asks } from "../../tenant/asks.ts";

const BASE = { tag: "Batches" } as const;

const list = endpoint(
  {
    ...BASE,
    ...asks("listBatches"),
    method: "get",
    lane: "heavy",
    path: "/api/batches",
    summary: "List batches, newest first",
    query: batchListQuery,
    answers: { 200: { description: "A page of batches; a client key sees its own.", schema: batchList } },
  },
  async (c, { query, token }) => {
    const { batches, total } = await ask(c, token, "listBatches", query);
    return answer(c, { batches: batches.map(presentBatch), total, ...query });
  },
);

const get = endpoint(
  {
    ...BASE,
    ...asks("getBatch"),
    method: "get",
    path: "/api/batches/{id}",
    params: batchIdParam,
    summary: "Read a batch: progress, rate, errors, cost, and what it waits for",
    answers: { 200: { description: "The batch.", schema: batchResource } },
  },
  async (c, { params: { id }, token }) =>
    answer(c, presentBatch(await ask(c, token, "getBatch", { id: ownBatchId(id) }))),
);

const cancel = endpoint(
  {
    ...BASE,
    ...asks("cancelBatch"),
    method: "post",
    path: "/api/batches/{id}/cancel",
    params: batchIdParam,
    summary: "Cancel a batch: what has an answer keeps it, running lines get at most 60 seconds",
    answers: { 200: { description: "The batch.", schema: batchResource } },
  },
  async (c, { params: { id }, token }) =>
    answer(c, presentBatch(await ask(c, token, "cancelBatch", { id: ownBatchId(id) }))),
);

export const batchRoutes: readonly Endpoint[] = [list, get, cancel];
