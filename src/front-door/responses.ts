// Stored responses: made in the background, read, streamed again, cancelled, deleted, in OpenAI's form.

import { openAiError } from "../../contract/front-door/door-error.ts";
import {
  deletedResponse,
  inputItemList,
  inputItemsQuery,
  presentInputItems,
  presentResponse,
  responseIdParam,
  responseQuery,
  responseResource,
} from "../../contract/front-door/response.ts";
import { jobIdOfResponse, responseIdOf } from "../../domain/front-door/stored-response.ts";
import { notFound } from "../../domain/words/refusal.ts";
import type { ResponseFacts } from "../../durable-objects/operations/front-door/responses.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import { answer, answerBody } from "../http/answer.ts";
import type { AppContext } from "../http/auth.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { Refused } from "../http/refused.ts";
import { ask } from "../tenant/ask.ts";
import { asks } from "../tenant/asks.ts";
import { answerHeadersOf, STREAM_HEADERS } from "./answer/headers.ts";
import { namingAnswer } from "./answer/named-answer.ts";
import { responseEvents } from "./answer/response-stream.ts";
import { openStoredAnswer } from "./answer/stored-answer.ts";
import { readInputItems } from "./request/chain.ts";
import type { AskedRequest } from "./request/request.ts";

const BASE = { tag: "Responses", errorSchema: openAiError } as const;
/** OpenAI's operations that are not offered: 404, as any other path, although a stored response's address fits them. */
export const UNOFFERED = ["/v1/responses/compact", "/v1/responses/input_tokens"] as const;
const ONE = { ...BASE, params: responseIdParam } as const;

/** Of a request in the background: its client asks for the answer later, or reads it as it is written. */
export const answerLater = async (c: AppContext, token: TokenFacts, { asking }: AskedRequest): Promise<Response> => {
  const startedAt = Date.now();
  const asked = await ask(c, token, "ask", asking);
  const headers = answerHeadersOf(c, asking.api, asked, asked.job, startedAt);
  const facts = await ask(c, token, "getResponse", { id: asked.job.id });
  if (!asking.stream) return answer(c, presented(facts), 200, headers);
  const events = await responseEvents(c, token, facts.response, null);
  return answerBody(c, events, { ...headers, ...STREAM_HEADERS });
};

const presented = ({ response, status, head, answer: text }: ResponseFacts) =>
  presentResponse(response, status, { head, answer: text });

/** As JSON; an answer too large for the tenant's object is passed on from its file. */
const tell = async (c: AppContext, token: TokenFacts, facts: ResponseFacts): Promise<Response> => {
  const file = facts.response.end?.answerFile ?? null;
  const stored = file === null ? null : await openStoredAnswer(c, token, file.id, true);
  if (stored === null) return answer(c, presented(facts));
  const named = stored.body.pipeThrough(namingAnswer(facts.response));
  return answerBody(c, named, { "content-type": "application/json" });
};

const get = endpoint(
  {
    ...ONE,
    ...asks("getResponse", "too_many_readers", "history_unavailable"),
    method: "get",
    path: "/v1/responses/{id}",
    lane: "waiting",
    summary: "Read a stored response",
    description:
      "Kept for `front_door.responses_days`. With `stream=true` its events: as they are written (the last 1 MiB of the current attempt), else made again from the answer, numbered from 0; those after `starting_after`, and always the last, which has the whole response. A client key reads only its own.",
    query: responseQuery,
    answers: {
      200: {
        description: "The response as it is now, or its events.",
        schema: responseResource,
        media: ["application/json", "text/event-stream"],
      },
    },
  },
  async (c, { params, query, token }) => {
    const id = jobIdOfResponse(params.id);
    const facts = await ask(c, token, "getResponse", { id });
    if (query.stream !== "true") return tell(c, token, facts);
    const events = await responseEvents(c, token, facts.response, query.starting_after ?? null);
    return answerBody(c, events, STREAM_HEADERS);
  },
);

const cancel = endpoint(
  {
    ...ONE,
    ...asks("cancelResponse"),
    method: "post",
    path: "/v1/responses/{id}/cancel",
    summary: "Cancel a response in the background",
    description: "One that has ended stays as it is.",
    takesAnyQuery: true,
    answers: { 200: { description: "The response as it is now.", schema: responseResource } },
  },
  async (c, { params, token }) => {
    const id = jobIdOfResponse(params.id);
    return tell(c, token, await ask(c, token, "cancelResponse", { id }));
  },
);

const remove = endpoint(
  {
    ...ONE,
    ...asks("deleteResponse"),
    method: "delete",
    path: "/v1/responses/{id}",
    summary: "Delete a stored response",
    description:
      "One in the background that still runs is cancelled. Its job stays in history, with what `front_door.store` keeps.",
    takesAnyQuery: true,
    answers: { 200: { description: "The id of the deleted response.", schema: deletedResponse } },
  },
  async (c, { params, token }) => {
    const id = jobIdOfResponse(params.id);
    await ask(c, token, "deleteResponse", { id });
    return answer(c, { id: responseIdOf(id), object: "response", deleted: true });
  },
);

const inputItems = endpoint(
  {
    ...ONE,
    ...asks("readItems"),
    operationId: "listResponseInputItems",
    method: "get",
    path: "/v1/responses/{id}/input_items",
    lane: "heavy",
    summary: "List what a stored response was made from",
    description: "The items of its whole chain and of its own input, the newest first unless `order=asc`.",
    query: inputItemsQuery,
    answers: { 200: { description: "A page of items.", schema: inputItemList } },
  },
  async (c, { params, query, token }) => {
    const id = jobIdOfResponse(params.id);
    const page = presentInputItems(await readInputItems(c, token, id), id, query);
    if (page === null) throw new Refused(notFound("item", query.after ?? ""));
    return answer(c, page);
  },
);

export const responseRoutes: readonly Endpoint[] = [get, cancel, remove, inputItems];
