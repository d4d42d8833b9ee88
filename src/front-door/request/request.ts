// A client's request in the form that the tenant takes: the body, nearly unchanged, and the values of its headers.

import * as z from "zod";
import { isAnthropic } from "../../../contract/front-door/dialect.ts";
import { MAX_QUEUE_SECONDS } from "../../../contract/front-door/front-door.ts";
import { fairnessKey, MAX_FAIRNESS_KEY_CHARS } from "../../../contract/jobs/job.ts";
import { isObject } from "../../../contract/text/json-object.ts";
import { callersTraceparent } from "../../../contract/text/traceparent.ts";
import { modelName, providerName, splitList, tags } from "../../../contract/words/field.ts";
import { MAX_BESIDE, modelsBeside, TOO_MANY_BESIDE } from "../../../domain/front-door/models-beside.ts";
import { RESPELLED, respelledIn } from "../../../domain/front-door/respelled.ts";
import { type Api, isFormApi, isOptional, isSpeech, WITH_USAGE_OPTION } from "../../../domain/words/api.ts";
import { entryOf } from "../../../domain/words/entry-of.ts";
import { invalid, type Refusal } from "../../../domain/words/refusal.ts";
import { PRIORITIES, type Priority, TIERS } from "../../../domain/words/requirements.ts";
import type { Asking } from "../../../durable-objects/operations/front-door/ask.ts";
import type { NewResponse } from "../../../durable-objects/operations/front-door/responses.ts";
import { idSource } from "../../../durable-objects/turn/ids.ts";
import type { AppContext } from "../../http/auth.ts";
import { joined } from "../../http/body.ts";
import { headerOf, isKeptFromEdge, USER_HEADER } from "../../http/header-value.ts";
import { idempotencyOf } from "../../http/idempotency.ts";
import { digestBy, digestOf, type TokenFacts } from "../../http/key-format.ts";
import { Refused, unwrap } from "../../http/refused.ts";
import { ask } from "../../tenant/ask.ts";
import { authorizeFor } from "../../tenant/tenant.ts";
import { type Changes, type LargeBody, readDoorBody } from "./body.ts";
import { withChain } from "./chain.ts";
import { metadataOf, personOf } from "./metadata.ts";
import { type Body, promptOf, sessionTextOf } from "./prompt.ts";

const MIN_TIMEOUT_SECONDS = 0.001;
const MAX_TIMEOUT_SECONDS = 604_800;

const nextId = idSource((count) => crypto.getRandomValues(new Uint8Array(count)));

export interface AskedRequest {
  readonly asking: Asking;
  /** Whether the client itself asked for the usage of its stream. */
  readonly wantsUsage: boolean;
  /** Its job's events are sound, which the client gets as bytes. */
  readonly isSound: boolean;
}

export interface DoorRequest extends AskedRequest {
  /** The body, if it is too large for a row of the tenant's database, and what the edge changes of it. */
  readonly held: { readonly body: LargeBody; readonly changes: Changes } | null;
}

const seconds = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,6}(\.\d{1,3})?$/, "must be a number of seconds")
    .transform(Number)
    .pipe(z.number().min(min).max(max));

/** Made once: to make one takes longer than to read a header with it. */
const HEADERS = {
  timeout: seconds(MIN_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS),
  queue: seconds(0, MAX_QUEUE_SECONDS),
  tags: z.string().transform(splitList).pipe(tags),
  priority: z.enum(PRIORITIES),
  tier: z.enum(TIERS),
};

const SERVICE_TIERS: Readonly<Record<string, Priority>> = { flex: "low", priority: "high", fast: "high" };

/** The client's headers that are meant for the runtime. Its key and cookies are never passed on. */
const ANTHROPIC_HEADERS = ["anthropic-version", "anthropic-beta"];
const MAX_PASSED_CHARS = 1024;

const passedHeaders = (c: AppContext, api: Api): Record<string, string> => {
  const passed: Record<string, string> = {};
  for (const name of isAnthropic(api) ? ANTHROPIC_HEADERS : []) {
    const value = c.req.header(name);
    if (value !== undefined) passed[name] = value.slice(0, MAX_PASSED_CHARS);
  }
  return passed;
};

const unsupported = (parameter: string, detail: string): Refused =>
  new Refused({ code: "unsupported_parameter", parameter, detail });

const refuseConversation = (body: Body): void => {
  if (body.conversation != null)
    throw unsupported(
      "conversation",
      "conversation is not supported, because conversations are not stored: send previous_response_id or the whole input",
    );
};

/** Whether the request asks for events, in each API's own words. */
const asksForEvents = (api: Api, body: Body): boolean =>
  isSpeech(api)
    ? body.stream_format === "sse"
    : !UNSTREAMED.has(api) && (body.stream === true || (isFormApi(api) && body.stream === "true"));
const UNSTREAMED: ReadonlySet<Api> = new Set<Api>(["embeddings", "rerank", "messages/count_tokens"]);

/** What the runtime gets otherwise than the client sent it; only what the contract names. */
const changesOf = (api: Api, body: Body, isStreamed: boolean): Changes => {
  if (api === "responses") return { store: false, ...forgotten(body) };
  const options = body.stream_options ?? {};
  // Options that are none are for the runtime to refuse.
  if (!isStreamed || !WITH_USAGE_OPTION.has(api) || !isObject(options)) return {};
  return { stream_options: { ...(options as Body), include_usage: true } };
};

/** The coordinator remembers, not the runtime. */
const forgotten = ({ background, background_options: options, previous_response_id: previous }: Body): Changes => ({
  ...(background == null ? {} : { background: false }),
  ...(options == null ? {} : { background_options: {} }),
  ...(previous == null ? {} : { previous_response_id: null }),
});

const asksForUsage = ({ stream_options: options }: Body): boolean =>
  isObject(options) && options.include_usage === true;

/** Before much of a body is read: whether any request of this key could become a job now. */
export const mayBeLarge = async (c: AppContext, api: Api, token: TokenFacts): Promise<void> => {
  // A repeated request gets its first answer, whatever has been used up since.
  if (c.req.header("idempotency-key") !== undefined) unwrap(await authorizeFor(c.env, token, "ask"));
  else await ask(c, token, "mayAsk", unread(api));
};

const unread = (api: Api) => ({ model: null, idempotency: null, api, isBackground: api === "responses" });

/** The digest of a large body stands for the body; two that differ only in their white space are two bodies. */
const identityOf = ({ chunks }: LargeBody): Promise<string> => digestOf(joined(chunks) as BufferSource);

const SESSION_HEADERS = ["x-signalbox-session", "x-session-id", "x-session-affinity"];

const otherModels = z.array(modelName).max(20);

/** What a request names to be tried after its model. */
const othersOf = (body: Body, isLarge: boolean): readonly string[] => {
  const named = otherModels.safeParse(body.models ?? []);
  if (!named.success) throw new Refused(invalid("models", "must be a list of at most 20 names of models"));
  const others = named.data.filter((name) => name !== body.model);
  if (isLarge && others.length > 0)
    throw unsupported("models", "models works for requests up to 1 MiB: name one model");
  return others;
};

const besideOf = (body: Body): readonly string[] => {
  const beside = modelsBeside(body);
  if (beside.length > MAX_BESIDE) throw new Refused(invalid("fallbacks", TOO_MANY_BESIDE));
  return beside;
};

/** The person that a request is for: of a body's own field as much as fits, because other services take longer ones. */
const userOf = (c: AppContext, body: Body): string | null => {
  const named = headerOf(c, USER_HEADER, fairnessKey);
  if (named !== null) return named;
  const fitting = fairnessKey.safeParse(personOf(body)?.slice(0, MAX_FAIRNESS_KEY_CHARS));
  return fitting.success ? fitting.data : null;
};

/** Whether the request may go to a hosted provider. A form has only texts. */
const edgeOf = ({ edge }: Body): boolean => {
  const told = edge ?? true;
  if (typeof told !== "boolean" && told !== "true" && told !== "false")
    throw new Refused(invalid("edge", "must be true or false"));
  return told === true || told === "true";
};

/** Fields that are meant for the coordinator, and would be refused by a runtime. */
const withoutOurs = ({ models: _models, edge: _edge, ...body }: Body): Body => body;

/** A small request as its runtime gets it: the stateful fields that would be null, false or empty are left out. */
const inputOf = (body: Body, changes: Changes): Body =>
  Object.fromEntries(
    Object.entries({ ...withoutOurs(body), ...changes }).filter(([name]) => !STATEFUL.has(name) || !(name in changes)),
  );
const STATEFUL: ReadonlySet<string> = new Set(["background", "background_options", "previous_response_id"]);

export const readDoorRequest = async (c: AppContext, api: Api, token: TokenFacts): Promise<DoorRequest> => {
  if (isOptional(api)) await ask(c, token, "mayAsk", unread(api));
  const read = await readDoorBody(c, token.tenant, () => mayBeLarge(c, api, token));
  const { body, large } = read;
  const identity = large === null || !c.req.header("idempotency-key") ? body : await identityOf(large);
  if (api !== "responses") return readRequest(c, api, { body, large, identity, files: [] });
  refuseConversation(body);
  const { read: chained, ...turn } = await withChain(c, token, read);
  return readRequest(c, api, { ...chained, identity, files: [], ...turn });
};

/** A body as far as it is read here; `identity` is what a repetition under the same key must have. */
interface ReadBody {
  readonly body: Body;
  readonly large: LargeBody | null;
  readonly identity: object | string;
  /** What was uploaded with it. */
  readonly files: readonly string[];
  readonly response?: NewResponse | null;
  readonly refused?: Refusal;
}

export const readRequest = async (c: AppContext, api: Api, read: ReadBody): Promise<DoorRequest> => {
  const { body, large, identity, files, response = null, refused } = read;
  const respelled = respelledIn(body);
  if (respelled !== undefined) throw new Refused(invalid(respelled, RESPELLED));
  const model = modelName.safeParse(body.model);
  if (!model.success) throw new Refused(invalid("model", "is required: a name of at most 128 characters"));
  const wantsEvents = asksForEvents(api, body);
  const idempotency = await idempotencyOf(c, { path: c.req.path, body: identity });
  // With an idempotency key the answer may be asked for again, so it is kept whole.
  const isSound = isSpeech(api) && !wantsEvents && idempotency === null;
  const stream = wantsEvents || isSound;
  if (wantsEvents && idempotency !== null)
    throw new Refused(
      invalid("Idempotency-Key", "does not work for streams, which cannot be replayed: send this request without it"),
    );
  const changes = changesOf(api, body, stream);
  const timeout = headerOf(c, "x-signalbox-timeout", HEADERS.timeout);
  const queue = headerOf(c, "x-signalbox-queue", HEADERS.queue);
  const named = SESSION_HEADERS.map((name) => c.req.header(name)).find((name) => name !== undefined && name !== "");
  const sessionText = sessionTextOf(api, model.data, body, named ?? null);
  const tier = entryOf(SERVICE_TIERS, String(body.service_tier ?? ""));
  const asking: Asking = {
    id: nextId(Date.now()),
    api,
    stream,
    model: model.data,
    prompt: promptOf(api, body),
    others: othersOf(body, large !== null),
    beside: besideOf(body),
    edge: edgeOf(body) && !isKeptFromEdge(c),
    input: large === null ? inputOf(body, changes) : null,
    metadata: metadataOf(body, c.req.header("x-signalbox-metadata")),
    session: sessionText === null ? null : await digestBy(c.env.HOME, sessionText),
    user: userOf(c, body),
    headers: passedHeaders(c, api),
    files,
    provider: headerOf(c, "x-signalbox-provider", providerName),
    tags: headerOf(c, "x-signalbox-tags", HEADERS.tags) ?? [],
    priority: headerOf(c, "x-signalbox-priority", HEADERS.priority) ?? tier ?? "normal",
    tier: headerOf(c, "x-signalbox-tier", HEADERS.tier),
    timeoutMs: timeout === null ? null : Math.round(timeout * 1000),
    queueMs: queue === null ? null : Math.round(queue * 1000),
    idempotency,
    traceparent: callersTraceparent(c.req.header("traceparent")),
    ...(response === null ? {} : { response }),
    refused,
  };
  return { asking, wantsUsage: asksForUsage(body), isSound, held: large === null ? null : { body: large, changes } };
};
