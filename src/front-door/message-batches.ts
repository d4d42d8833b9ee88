// Batches in Anthropic's form: the requests of the body become the lines of a file; from there on it is a batch
// like any other. What is wrong with a request refuses the whole, because this form has no batch that failed.

import { type BatchFacts, batchIdParam } from "../../contract/batch.ts";
import {
  anthropicBatch,
  anthropicBatchDeleted,
  anthropicBatchId,
  anthropicBatchList,
  anthropicBatchQuery,
  newAnthropicBatch,
  toAnthropicBatch,
} from "../../contract/front-door/anthropic-batch.ts";
import { anthropicError } from "../../contract/front-door/door-error.ts";
import { toPage } from "../../contract/front-door/page.ts";
import { ownBatchId } from "../../contract/words/field.ts";
import { type BatchRecord, OUTPUT_LIFE_MS } from "../../domain/batch/batch.ts";
import { DAY_MS } from "../../domain/words/duration.ts";
import { invalid, notFound, type Refusal } from "../../domain/words/refusal.ts";
import type { Result } from "../../domain/words/result.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import { readBytes, TO_THE_END } from "../files/objects.ts";
import { receive, receiveFile } from "../files/receive.ts";
import type { Arriving } from "../files/reception.ts";
import { requestLines } from "../files/request-lines.ts";
import { sendOn } from "../files/send-on.ts";
import { answer, answerBody } from "../http/answer.ts";
import type { AppContext } from "../http/auth.ts";
import { refuseOtherMedia } from "../http/body.ts";
import { isKeptFromEdge } from "../http/header-value.ts";
import { randomId, type TokenFacts } from "../http/key-format.ts";
import { clientOrigin } from "../http/public-address.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { ask } from "../tenant/ask.ts";
import { asks } from "../tenant/asks.ts";
import { callTenant } from "../tenant/tenant.ts";
import { movedResults } from "./answer/moved-results.ts";

const BASE = { tag: "Front door", errorSchema: anthropicError } as const;
const ONE = { ...BASE, params: batchIdParam, takesAnyQuery: true } as const;
const USUAL_PAGE = 20;
const WINDOW = { text: "24h", ms: DAY_MS };
/** How long a create waits for the reading of its requests. */
const LONGEST_READING_MS = 60_000;
const LOOK_EVERY_MS = { first: 20, longest: 500 };

const arrivingRequests = (c: AppContext, name: string): Arriving => ({
  declaredBytes: null,
  send: async (store) => {
    const { body } = c.req.raw;
    if (body === null) throw new Refused(invalid("requests", "is required: a list of {custom_id, params}"));
    await sendOn(requestLines(body), store);
    return { name: `${name}.jsonl`, contentType: "application/jsonl", purpose: "batch", lifeMs: null };
  },
});

const faultOf = ({ faults }: BatchRecord): Refused => {
  const [first] = faults;
  if (first === undefined) return new Refused(invalid("requests", "cannot be read"));
  if (first.code === "empty_file") return new Refused(invalid("requests", "must have at least one request"));
  const path = first.line === null ? "requests" : `requests.${first.line - 1}`;
  const param = first.param?.replace(/^body\b/, "params");
  return new Refused(invalid(param === undefined ? path : `${path}.${param}`, inRequests(first.message)));
};

/** What is said of a file's line, said of a request of this form. */
const inRequests = (message: string): string =>
  message
    .replace(/^body\b|\bbody(?=\.)/, "params")
    .replace(/\bis on line (\d+)/, (_said, line: string) => `is in requests.${Number(line) - 1}`);

/** Waits until the requests are read; a batch that is at fault is deleted and refused. */
const whenRead = async (c: AppContext, token: TokenFacts, created: BatchFacts): Promise<BatchFacts> => {
  const { id } = created.batch;
  const giveUpAt = Date.now() + LONGEST_READING_MS;
  let facts = created;
  for (let waitMs = LOOK_EVERY_MS.first; facts.batch.status === "validating"; waitMs *= 2) {
    if (Date.now() > giveUpAt) return facts;
    await new Promise((resolve) => setTimeout(resolve, Math.min(waitMs, LOOK_EVERY_MS.longest)));
    facts = await ask(c, token, "getBatch", { id });
  }
  if (facts.batch.status !== "failed") return facts;
  await callTenant(c.env, token, "deleteBatch", { id });
  throw faultOf(facts.batch);
};

const create = endpoint(
  {
    ...BASE,
    ...asks("createBatch", "files_full", "file_too_large"),
    operationId: "createMessageBatch",
    method: "post",
    path: "/v1/messages/batches",
    summary: "Create a batch of messages (Anthropic)",
    takesAnyQuery: true,
    rawBody: { schema: newAnthropicBatch, media: ["application/json"], isStreamed: true },
    answers: { 200: { description: "The batch.", schema: anthropicBatch } },
  },
  async (c, { token }) => {
    refuseOtherMedia(c);
    const edge = isKeptFromEdge(c) ? { edge: false as const } : {};
    const id = `batch_${randomId()}`;
    const file = await receive(c, token, arrivingRequests(c, anthropicBatchId(id)), receiveFile(c, token));
    const created = await callTenant(c.env, token, "createBatch", {
      id,
      form: "anthropic",
      fileId: file.id,
      origin: clientOrigin(c),
      api: "messages",
      completionWindow: WINDOW.text,
      windowMs: WINDOW.ms,
      metadata: null,
      ...edge,
      outputLifeMs: OUTPUT_LIFE_MS.usual,
    });
    if (!created.ok) await callTenant(c.env, token, "deleteFile", { id: file.id });
    const asCreated = unwrap(created);
    const { total } = (await whenRead(c, token, asCreated)).batch;
    return answer(c, toAnthropicBatch({ ...asCreated, batch: { ...asCreated.batch, total } }, clientOrigin(c)));
  },
);

/** A refusal names the batch as its client does. */
const unwrapOf = <T>(id: string, result: Result<T, Refusal>): T => {
  if (result.ok) return result.value;
  const { error } = result;
  throw new Refused(error.code === "batch_state" || error.code === "not_found" ? { ...error, id } : error);
};

const list = endpoint(
  {
    ...BASE,
    ...asks("listBatchesBeside"),
    operationId: "listMessageBatches",
    method: "get",
    lane: "heavy",
    path: "/v1/messages/batches",
    summary: "List batches of messages, newest first (Anthropic)",
    query: anthropicBatchQuery,
    answers: { 200: { description: "A page of batches.", schema: anthropicBatchList } },
  },
  async (c, { query: { limit = USUAL_PAGE, after_id: after, before_id: before }, token }) => {
    if (after && before) throw new Refused(invalid("before_id", "does not work with after_id: leave it out"));
    const id = after || before || "";
    const beside = id === "" ? null : ownBatchId(id);
    const asked = { form: "anthropic", beside, isNewer: !!before, limit } as const;
    const { batches, hasMore } = unwrapOf(id, await callTenant(c.env, token, "listBatchesBeside", asked));
    const data = batches.map((one) => toAnthropicBatch(one, clientOrigin(c)));
    return answer(c, toPage(data, hasMore));
  },
);

const get = endpoint(
  {
    ...ONE,
    ...asks("getBatch"),
    operationId: "getMessageBatch",
    method: "get",
    path: "/v1/messages/batches/{id}",
    summary: "Read a batch of messages (Anthropic)",
    answers: { 200: { description: "The batch.", schema: anthropicBatch } },
  },
  async (c, { params: { id }, token }) => {
    const facts = unwrapOf(id, await callTenant(c.env, token, "getBatch", { id: ownBatchId(id) }));
    return answer(c, toAnthropicBatch(facts, clientOrigin(c)));
  },
);

const cancel = endpoint(
  {
    ...ONE,
    ...asks("cancelBatch"),
    operationId: "cancelMessageBatch",
    method: "post",
    path: "/v1/messages/batches/{id}/cancel",
    summary: "Cancel a batch of messages (Anthropic)",
    answers: { 200: { description: "The batch.", schema: anthropicBatch } },
  },
  async (c, { params: { id }, token }) => {
    const facts = unwrapOf(id, await callTenant(c.env, token, "cancelBatch", { id: ownBatchId(id) }));
    return answer(c, toAnthropicBatch(facts, clientOrigin(c)));
  },
);

const remove = endpoint(
  {
    ...ONE,
    ...asks("deleteBatch"),
    operationId: "deleteMessageBatch",
    method: "delete",
    path: "/v1/messages/batches/{id}",
    summary: "Delete a batch that has ended, with its results (Anthropic)",
    answers: { 200: { description: "Deleted.", schema: anthropicBatchDeleted } },
  },
  async (c, { params: { id }, token }) => {
    unwrapOf(id, await callTenant(c.env, token, "deleteBatch", { id: ownBatchId(id) }));
    return answer(c, { id: anthropicBatchId(ownBatchId(id)), type: "message_batch_deleted" });
  },
);

const results = endpoint(
  {
    ...ONE,
    ...asks("getBatch", "batch_state"),
    operationId: "readMessageBatchResults",
    readsFile: true,
    method: "get",
    path: "/v1/messages/batches/{id}/results",
    summary: "Read the results of a batch that has ended (Anthropic)",
    description: "A JSON object a line, in the order of the requests.",
    answers: { 200: { description: "The results.", media: ["application/x-jsonl"] } },
  },
  async (c, { params: { id }, token }) => {
    const { batch, files } = unwrapOf(id, await callTenant(c.env, token, "getBatch", { id: ownBatchId(id) }));
    if (batch.endedAt === null)
      throw new Refused({ code: "batch_state", id, status: batch.status, command: "read the results of" });
    const isThere =
      (batch.outputBytes ?? 0) + (batch.errorBytes ?? 0) > 0 &&
      (batch.outputBytes === 0 || files.output !== null) &&
      (batch.errorBytes === 0 || files.errors !== null);
    const file = files.output ?? files.errors;
    if (!isThere || file === null) throw new Refused(notFound("batch", `${id}/results`));
    const { view: own } = await ask(c, token, "readFile", { id: file });
    const view = { batch: batch.id, form: "anthropic" } as const;
    const lines =
      own === null
        ? movedResults(c, token, files)
        : await readBytes({ env: c.env, name: token, id: batch.fileId }, 0, TO_THE_END, view);
    return answerBody(c, lines, { "content-type": "application/x-jsonl" });
  },
);

export const messageBatchRoutes: readonly Endpoint[] = [list, get, cancel, remove];
export const messageBatchByteRoutes: readonly Endpoint[] = [create, results];
