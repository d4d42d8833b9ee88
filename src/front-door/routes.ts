// The front door: what AI clients already speak, before the fleet. Bodies and events pass through as they are.

import * as z from "zod";
import { isAnthropic } from "../../contract/dialect.ts";
import { anthropicError, openAiError } from "../../contract/door-error.ts";
import { json } from "../../contract/field.ts";
import { modelList, modelResource } from "../../contract/model-list.ts";
import { APIS, type Api } from "../../domain/api.ts";
import { answer } from "../http/answer.ts";
import { asks } from "../http/asks.ts";
import type { AppContext } from "../http/auth.ts";
import { idempotencyHeader } from "../http/idempotency.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { operationIdOf } from "../http/openapi.ts";
import { unwrap } from "../http/refused.ts";
import { dropHeldBody, holdBody } from "../http/relay.ts";
import { type Endpoint, endpoint } from "../http/router.ts";
import { callTenant } from "../http/tenant.ts";
import { answerPlain } from "./plain.ts";
import { type DoorRequest, MAX_DOOR_BODY_BYTES, readDoorRequest } from "./request.ts";
import { answerStream } from "./stream.ts";

const TAG = "Front door";
/** Clients send what they like. */
const anyQuery = z.looseObject({});
const doorBody = z.looseObject({ model: z.string() }).meta({
  id: "FrontDoorRequest",
  description: "the API's own body: unknown fields pass to the runtime as they are",
});

const SUMMARIES: Readonly<Record<Api, string>> = {
  "chat/completions": "OpenAI's chat completions",
  completions: "OpenAI's completions",
  embeddings: "OpenAI's embeddings",
  responses: "OpenAI's responses, stateless",
  messages: "Anthropic's messages",
};

const handle = async (c: AppContext, api: Api, token: TokenFacts): Promise<Response> => {
  const request = await readDoorRequest(c, api);
  const held = request.isLarge ? await hold(c, token, request) : request;
  const answering = held.asking.stream ? answerStream : answerPlain;
  try {
    return await answering(c, token, held);
  } catch (error) {
    if (request.isLarge)
      c.executionCtx.waitUntil(dropHeldBody(c.env, token, held.asking.id ?? "").catch(() => undefined));
    throw error;
  }
};

/** A body that is too large for a row of the tenant waits outside for its worker, its model named as the worker knows it. */
const hold = async (c: AppContext, token: TokenFacts, request: DoorRequest): Promise<DoorRequest> => {
  const { asking } = request;
  const model = unwrap(await callTenant(c.env, token, "nameModel", { model: asking.model }));
  await holdBody(c.env, token, asking.id ?? "", JSON.stringify({ ...(asking.input as object), model }));
  return { ...request, asking: { ...asking, input: null } };
};

const doorOf = (api: Api): Endpoint =>
  endpoint(
    {
      ...asks("ask", "unsupported_parameter", "payload_too_large"),
      method: "post",
      operationId: operationIdOf("post", `/${api}`),
      path: `/v1/${api}`,
      tag: TAG,
      summary: SUMMARIES[api],
      description:
        "A request is a job: same queue, routing, budget, killswitch and record. Errors are in the API's own shape.",
      query: anyQuery,
      headers: idempotencyHeader,
      errorSchema: isAnthropic(api) ? anthropicError : openAiError,
      rawBody: { schema: doorBody, media: ["application/json"], isAuthorizedLate: true },
      lane: "waiting",
      maxBodyBytes: MAX_DOOR_BODY_BYTES,
      answers: {
        200: {
          description: "The runtime's own answer, or its events.",
          schema: json,
          media: ["application/json", "text/event-stream"],
        },
      },
    },
    (c, { token }) => handle(c, api, token),
  );

const models = endpoint(
  {
    ...asks("listModels"),
    method: "get",
    path: "/v1/models",
    tag: TAG,
    summary: "The models that there are",
    description: "What workers that are not offline offer, and every alias; OpenAI's fields and Anthropic's in one.",
    query: anyQuery,
    errorSchema: openAiError,
    answers: { 200: { description: "The models and aliases.", schema: modelList } },
  },
  async (c, { token }) => {
    return answer(c, unwrap(await callTenant(c.env, token, "listModels", null)));
  },
);

const oneModel = z.object({ model: z.string() });
const ownedModel = z.object({ owner: z.string(), model: z.string() });

const modelNamed = (path: string, params: typeof oneModel | typeof ownedModel): Endpoint =>
  endpoint(
    {
      ...asks("getModel"),
      operationId: params === oneModel ? "getModel" : "getOwnedModel",
      method: "get",
      path,
      tag: TAG,
      summary: "One model",
      params,
      errorSchema: openAiError,
      query: anyQuery,
      answers: { 200: { description: "The model.", schema: modelResource } },
    },
    async (c, { params: named, token }) => {
      const model = "owner" in named ? `${named.owner}/${named.model}` : named.model;
      return answer(c, unwrap(await callTenant(c.env, token, "getModel", { model })));
    },
  );

export const doorRoutes: readonly Endpoint[] = [
  ...APIS.map(doorOf),
  models,
  modelNamed("/v1/models/{model}", oneModel),
  modelNamed("/v1/models/{owner}/{model}", ownedModel),
];
