// Batches in OpenAI's form: the same batches as `/api/batches`.

import { batchIdParam } from "../../contract/batch.ts";
import { openAiError } from "../../contract/front-door/door-error.ts";
import {
  apiOfEndpoint,
  newOpenAiBatchRequest,
  openAiBatch,
  openAiBatchList,
  openAiBatchQuery,
  toOpenAiBatch,
} from "../../contract/front-door/openai-batch.ts";
import { toPage } from "../../contract/front-door/page.ts";
import { ownBatchId, toMs } from "../../contract/words/field.ts";
import { OUTPUT_LIFE_MS, windowOf } from "../../domain/batch/batch.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import { answer } from "../http/answer.ts";
import { isKeptFromEdge } from "../http/header-value.ts";
import { randomId } from "../http/key-format.ts";
import { clientOrigin } from "../http/public-address.ts";
import { unwrap } from "../http/refused.ts";
import { ask } from "../tenant/ask.ts";
import { asks } from "../tenant/asks.ts";
import { callTenant } from "../tenant/tenant.ts";

const BASE = { tag: "Front door", errorSchema: openAiError } as const;
const ONE = { ...BASE, params: batchIdParam, takesAnyQuery: true } as const;
const USUAL_PAGE = 20;

const create = endpoint(
  {
    ...BASE,
    ...asks("createBatch"),
    operationId: "createOpenAiBatch",
    method: "post",
    path: "/v1/batches",
    summary: "Create a batch (OpenAI)",
    description:
      "Every line of the input file is a request `{custom_id, method, url, body}`; each becomes a job when the fleet has room. `completion_window` is `24h`, or any number of hours or days from `1h` to `7d`.",
    takesAnyQuery: true,
    body: newOpenAiBatchRequest,
    answers: { 200: { description: "The batch, whose file is read next.", schema: openAiBatch } },
  },
  async (c, { body, token }) => {
    const created = await callTenant(c.env, token, "createBatch", {
      id: `batch_${randomId()}`,
      form: "openai",
      fileId: body.input_file_id,
      origin: clientOrigin(c),
      api: apiOfEndpoint(body.endpoint),
      completionWindow: body.completion_window,
      windowMs: windowOf(body.completion_window) ?? 0,
      metadata: body.metadata ?? null,
      ...(isKeptFromEdge(c) ? { edge: false } : {}),
      outputLifeMs: body.output_expires_after == null ? OUTPUT_LIFE_MS.usual : toMs(body.output_expires_after.seconds),
    });
    return answer(c, toOpenAiBatch(unwrap(created)));
  },
);

const list = endpoint(
  {
    ...BASE,
    ...asks("listBatchesBeside"),
    operationId: "listOpenAiBatches",
    method: "get",
    lane: "heavy",
    path: "/v1/batches",
    summary: "List batches, newest first (OpenAI)",
    query: openAiBatchQuery,
    answers: { 200: { description: "A page of batches.", schema: openAiBatchList } },
  },
  async (c, { query: { after = "", limit = USUAL_PAGE }, token }) => {
    const beside = after === "" ? null : ownBatchId(after);
    const asked = { form: "openai", beside, isNewer: false, limit } as const;
    const { batches, hasMore } = await ask(c, token, "listBatchesBeside", asked);
    return answer(c, { object: "list", ...toPage(batches.map(toOpenAiBatch), hasMore) });
  },
);

const get = endpoint(
  {
    ...ONE,
    ...asks("getBatch"),
    operationId: "getOpenAiBatch",
    method: "get",
    path: "/v1/batches/{id}",
    summary: "Read a batch (OpenAI)",
    answers: { 200: { description: "The batch.", schema: openAiBatch } },
  },
  async (c, { params: { id }, token }) =>
    answer(c, toOpenAiBatch(await ask(c, token, "getBatch", { id: ownBatchId(id) }))),
);

const cancel = endpoint(
  {
    ...ONE,
    ...asks("cancelBatch"),
    operationId: "cancelOpenAiBatch",
    method: "post",
    path: "/v1/batches/{id}/cancel",
    summary: "Cancel a batch (OpenAI)",
    answers: { 200: { description: "The batch.", schema: openAiBatch } },
  },
  async (c, { params: { id }, token }) =>
    answer(c, toOpenAiBatch(await ask(c, token, "cancelBatch", { id: ownBatchId(id) }))),
);

export const doorBatchRoutes: readonly Endpoint[] = [create, list, get, cancel];
