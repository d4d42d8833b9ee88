// The front door: the APIs that AI clients already use. Bodies and events pass through unchanged.

import * as z from "zod";
import { isAnthropic } from "../../contract/front-door/dialect.ts";
import { anthropicError, openAiError } from "../../contract/front-door/door-error.ts";
import { modelList, modelResource } from "../../contract/front-door/model-list.ts";
import { json } from "../../contract/words/field.ts";
import { APIS, type Api, BYTE_APIS, FORM_APIS, type FormApi, isFormApi } from "../../domain/words/api.ts";
import { operationIdOf } from "../endpoint/openapi.ts";
import { operation } from "../endpoint/operation.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import type { AppContext } from "../http/auth.ts";
import { idempotencyHeader, REPLAYED } from "../http/idempotency.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { ask } from "../tenant/ask.ts";
import { asks } from "../tenant/asks.ts";
import { dropHeldBody, holdBody } from "../tenant/relay.ts";
import { leaveIfAway } from "./answer/client-gone.ts";
import { answerPlain } from "./answer/plain.ts";
import { answerStream } from "./answer/stream.ts";
import { MAX_DOOR_BODY_BYTES, withChanges } from "./request/body.ts";
import { dropInput } from "./request/chain.ts";
import { dropUploads, readFormRequest } from "./request/form.ts";
import { type AskedRequest, type DoorRequest, readDoorRequest } from "./request/request.ts";
import { answerLater } from "./responses.ts";

const TAG = "Front door";
const MODELS = "/v1/models";
const doorBody = z.looseObject({ model: z.string() }).meta({
  id: "FrontDoorRequest",
  description: "the API's own body; unknown fields pass to the runtime unchanged",
});

const doorForm = z.looseObject({ model: z.string() }).meta({
  id: "FrontDoorForm",
  description: "the API's own form, of at most 100 MiB; it passes to the runtime unchanged",
});
const FORM_REFUSALS = ["files_full", "file_too_large"] as const;

const SUMMARIES: Readonly<Record<Api, string>> = {
  "chat/completions": "OpenAI chat completions",
  completions: "OpenAI completions",
  embeddings: "OpenAI embeddings",
  responses: "OpenAI responses, stored and chained",
  messages: "Anthropic messages",
  "messages/count_tokens": "Anthropic token counts",
  rerank: "Rerank documents by a query",
  "images/generations": "OpenAI image generations",
  "images/edits": "OpenAI image edits",
  "audio/transcriptions": "OpenAI transcriptions",
  "audio/translations": "OpenAI translations of speech",
  "audio/speech": "OpenAI speech",
};

/** What was stored for a job goes with its end. A request that is refused or repeated has no job: `drop` deletes it. */
const storedForJob = async (drop: () => Promise<void>, answers: () => Promise<Response>): Promise<Response> => {
  try {
    const answered = await answers();
    if (answered.headers.has(REPLAYED)) await drop();
    return answered;
  } catch (error) {
    await drop().catch(() => undefined);
    throw error;
  }
};

const handle = async (c: AppContext, api: Api, token: TokenFacts): Promise<Response> => {
  const { held, ...request } = await readDoorRequest(c, api, token);
  if (held === null) return answerTo(c, token, request);
  const drop = (): Promise<void> => dropInput(c, token, request.asking.response);
  return storedForJob(drop, () => handleHeld(c, api, token, { held, ...request }));
};

/** A body too large for the tenant's database is stored outside before its job is made. */
const handleHeld = async (
  c: AppContext,
  api: Api,
  token: TokenFacts,
  { held, ...request }: AskedRequest & { readonly held: NonNullable<DoorRequest["held"]> },
): Promise<Response> => {
  const { id, model, idempotency, response, refused } = request.asking;
  const isBackground = response?.isBackground === true;
  // Nothing is stored for a request that would be refused.
  const named = await ask(c, token, "mayAsk", { model, idempotency, api, isBackground });
  if (refused !== undefined) {
    c.get("share")?.freeBytes();
    return answerTo(c, token, request);
  }
  const drop = async (): Promise<void> =>
    c.executionCtx.waitUntil(dropHeldBody(c.env, token, id ?? "").catch(() => undefined));
  return storedForJob(drop, async () => {
    const pieces = withChanges(held.body, { ...held.changes, model: named ?? model });
    await holdBody(c.env, token, id ?? "", pieces);
    c.get("share")?.freeBytes();
    const heldBytes = pieces.reduce((sum, { length }) => sum + length, 0);
    return answerTo(c, token, { ...request, asking: { ...request.asking, heldBytes } });
  });
};

const handleForm = async (c: AppContext, api: FormApi, token: TokenFacts): Promise<Response> => {
  const request = await readFormRequest(c, api, token);
  const drop = async (): Promise<void> => c.executionCtx.waitUntil(dropUploads(c, token, request.asking.files ?? []));
  return storedForJob(drop, () => answerTo(c, token, request));
};

const answerTo = async (c: AppContext, token: TokenFacts, request: AskedRequest): Promise<Response> => {
  const { asking } = request;
  if (asking.response?.isBackground === true) return answerLater(c, token, request);
  try {
    return await (asking.stream ? answerStream : answerPlain)(c, token, request);
  } catch (error) {
    leaveIfAway(c, token, asking, error);
    throw error;
  }
};

const doorOf = (api: Api): Endpoint => {
  const errorSchema = isAnthropic(api) ? anthropicError : openAiError;
  const isForm = isFormApi(api);
  return endpoint(
    {
      ...asks("ask", "unsupported_parameter", "payload_too_large", ...(isForm ? FORM_REFUSALS : [])),
      method: "post",
      operationId: operationIdOf("post", `/${api}`),
      path: `/v1/${api}`,
      tag: TAG,
      summary: SUMMARIES[api],
      description:
        "The request becomes a job like any other; its headers `X-Signalbox-Provider`, `-Tags`, `-Priority`, `-Tier`, `-Timeout`, `-Queue`, `-Session`, `-User`, `-Edge` and `-Metadata` say more. Errors have the API's own format; a runtime's 4xx keeps its status.",
      takesAnyQuery: true,
      headers: idempotencyHeader,
      errorSchema,
      rawBody: isForm
        ? { schema: doorForm, media: ["multipart/form-data"], isStreamed: true }
        : { schema: doorBody, media: ["application/json"], isAuthorizedLate: true },
      lane: "waiting",
      maxBodyBytes: MAX_DOOR_BODY_BYTES,
      answers: {
        200: {
          description: "The runtime's answer, or its events if `stream` is true.",
          schema: json,
          media: ["application/json", "text/event-stream", ...(BYTE_APIS.has(api) ? ["*/*"] : [])],
        },
        "4XX": { description: "The runtime refused.", schema: errorSchema },
        500: { description: "The worker failed.", schema: errorSchema },
        502: { description: "The runtime failed, or its worker was lost.", schema: errorSchema },
      },
    },
    (c, { token }) => (isFormApi(api) ? handleForm(c, api, token) : handle(c, api, token)),
  );
};

const models = operation(
  "listModels",
  {
    method: "get",
    path: MODELS,
    lane: "heavy",
    tag: TAG,
    summary: "List models",
    description:
      "The models of all workers that are not offline, and every alias. Each entry has OpenAI's and Anthropic's fields.",
    takesAnyQuery: true,
    errorSchema: openAiError,
    answers: { 200: { description: "The models and aliases.", schema: modelList } },
  },
  () => null,
);

const oneModel = z.object({ model: z.string() });
const ownedModel = z.object({ owner: z.string(), model: z.string() });

const modelNamed = (path: string, params: typeof oneModel | typeof ownedModel): Endpoint =>
  operation(
    "getModel",
    {
      operationId: params === oneModel ? "getModel" : "getOwnedModel",
      method: "get",
      path,
      lane: "heavy",
      tag: TAG,
      summary: "Read a model",
      params,
      errorSchema: openAiError,
      takesAnyQuery: true,
      answers: { 200: { description: "The model or alias.", schema: modelResource } },
    },
    ({ params: named }, c) => {
      const model = "owner" in named ? [named.owner, named.model, ...below(c)].join("/") : named.model;
      return { model };
    },
  );

/** The parts of the path after the owner and the model. */
const below = (c: AppContext): string[] => c.req.path.slice(MODELS.length).split("/").slice(3);

const ofOwner = modelNamed(`${MODELS}/{owner}/{model}`, ownedModel);

export const doorRoutes: readonly Endpoint[] = [
  ...APIS.filter((api) => !isFormApi(api)).map(doorOf),
  models,
  modelNamed(`${MODELS}/{model}`, oneModel),
  ofOwner,
];

/** Their files go to objects of their own, which only the platform reaches. */
export const doorFormRoutes: readonly Endpoint[] = FORM_APIS.map(doorOf);

/** Names with more slashes than a documented path can have, such as `accounts/fireworks/models/x`. */
export const longModelRoute = { path: `${MODELS}/:owner/:model/*`, handle: ofOwner.handle } as const;
