// A request at the front door becomes a job: with a worker if one has room, else in the queue; what no worker could ever
// answer is refused.

import { type JobResource, presentJob } from "../../../contract/jobs/job.ts";
import { keepsResult } from "../../../domain/front-door/front-door.ts";
import type { StoredResponse } from "../../../domain/front-door/stored-response.ts";
import type { Decision, Job } from "../../../domain/job/job.ts";
import type { FrontDoorFacts, ModelChoice, Tried } from "../../../domain/job/job-facts.ts";
import { createJob, type NewJob } from "../../../domain/job/new-job.ts";
import { permit } from "../../../domain/killswitch.ts";
import { isOnlyFull } from "../../../domain/routing/explanation.ts";
import type { RoutePolicy } from "../../../domain/routing/filter.ts";
import { type Api, isOptional } from "../../../domain/words/api.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import type { Json } from "../../../domain/words/json.ts";
import type { Refusal, RefusalOf } from "../../../domain/words/refusal.ts";
import type { Priority, Tier } from "../../../domain/words/requirements.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import { passedOver, triedOf } from "../../placing/next-choice.ts";
import { admit, admitTo, chooseFor } from "../../placing/place-job.ts";
import { refuseBacklog, refuseWaiting } from "../../placing/room.ts";
import { routePolicy, routeRequest } from "../../placing/route-policy.ts";
import { pendingReason } from "../../placing/waiting-reason.ts";
import { inFlow } from "../../steps/flow.ts";
import { type Idempotency, recall, withIdempotency } from "../../steps/idempotency.ts";
import {
  countRequest,
  type LimitState,
  mayUseEdge,
  refuseModels,
  refuseOverLimits,
  refuseOverUse,
} from "../../steps/key-limits.ts";
import { isSilent } from "../../steps/last-sign.ts";
import { refuseOverBudget } from "../../steps/reached-budgets.ts";
import type { Turn } from "../../turn/turn.ts";
import { allowedAs, type FoundModels, findModels } from "./door-models.ts";
import { type Followed, gone, present } from "./follow.ts";
import { addResponse, type NewResponse } from "./responses.ts";

export interface Asking {
  /** Given if the body is already stored outside this object. */
  readonly id: string | null;
  readonly api: Api;
  readonly stream: boolean;
  readonly model: string;
  /** Models that the request names to be tried after it. */
  readonly others?: readonly string[];
  /** Models that its provider may run beside. */
  readonly beside?: readonly string[];
  /** false: not to a provider that the coordinator calls itself. */
  readonly edge?: boolean;
  readonly prompt: string;
  /** null if it is stored outside. */
  readonly input: Json;
  /** The size of an input that is stored outside. */
  readonly heldBytes?: number;
  readonly session: string | null;
  /** The person that it is for, as its client says. */
  readonly user?: string | null;
  readonly headers: FrontDoorFacts["headers"];
  /** Uploaded with the request; they go when its job has ended. */
  readonly files?: readonly string[];
  readonly metadata?: Readonly<Record<string, string>>;
  readonly provider: string | null;
  readonly tags: readonly string[];
  readonly priority: Priority;
  readonly tier: Tier | null;
  readonly timeoutMs: number | null;
  /** null: as configured. */
  readonly queueMs: number | null;
  readonly idempotency: Idempotency | null;
  /** W3C Trace Context of the request; null if it has none. */
  readonly traceparent: string | null;
  /** The request wants its answer stored. */
  readonly response?: NewResponse;
  /** Why it becomes no job; a repeated request gets its first answer all the same. */
  readonly refused?: Refusal | undefined;
}

export interface DoorAnswer {
  readonly job: Followed;
  readonly isReplayed: boolean;
  readonly limits: LimitState | null;
  readonly settings: DoorSettings;
  /** How its answer is stored; null: it is not. */
  readonly response: StoredResponse | null;
}

/** The parts of the config that the edge uses. */
interface DoorSettings {
  readonly commitAfterMs: number;
  readonly keepAliveMs: number;
}

const settingsOf = (turn: Turn): DoorSettings => {
  const { commitAfterMs, keepAliveMs } = turn.memory.config.frontDoor;
  return { commitAfterMs, keepAliveMs };
};

export const readCorsOrigins = (turn: Turn): Result<readonly string[], Refusal> =>
  ok(turn.memory.config.frontDoor.corsOrigins);

/** Creates the job of a request, with a worker if one has room; refuses what no worker could ever answer. */
export const ask = (turn: Turn, request: Asking): Result<DoorAnswer, Refusal> => {
  const made = withIdempotency(turn, "ask", request.idempotency, () =>
    request.refused === undefined ? open(turn, request) : err(request.refused),
  );
  if (!made.ok) return made;
  const isReplayed = made.value.replayed === true;
  const job = turn.store.jobs.find(made.value.job.id);
  if (isReplayed && job !== null) outlastRotation(turn, job);
  const limits = countRequest(turn, !isReplayed, [request]);
  const followed = job === null ? gone(made.value.job) : present(turn, job, null);
  const response = request.response === undefined ? null : turn.store.responses.find(followed.id);
  return ok({ job: followed, isReplayed, limits, settings: settingsOf(turn), response });
};

/** Who repeats a request with the key's new secret waits for its job, too: it does not end with the old one. */
const outlastRotation = (turn: Turn, job: Job): void => {
  const { keyId, secretHash } = turn.caller;
  if (job.frontDoor?.openedWith === undefined || isFinal(job.status) || secretHash === undefined) return;
  if (job.frontDoor.openedWith === secretHash || turn.store.keys.find(keyId ?? "")?.hash !== secretHash) return;
  turn.record(job, { job: { ...job, frontDoor: { ...job.frontDoor, openedWith: secretHash } }, events: [] });
};

/** It waits in the queue as any job does, because nobody waits for it. */
const isInBackground = ({ response }: Pick<Asking, "response">): boolean => response?.isBackground === true;

const permitAsk = (turn: Turn, isBackground: boolean): Result<null, Refusal> =>
  permit(turn.memory.killswitch, isBackground ? "create" : "dispatch");

interface Unread {
  readonly model: string | null;
  readonly idempotency: Idempotency | null;
  readonly api: Api;
  /** Or may be, before the body is read. */
  readonly isBackground: boolean;
}

/**
 * Whether a request with a large body could become a job: asked before the body is read, when its model is not known
 * yet, and before it is stored. The answer is the model's name as its workers know it.
 */
export const mayAsk = (
  turn: Turn,
  { model, idempotency, api, isBackground }: Unread,
): Result<string | null, Refusal> => {
  const offered = refuseUnoffered(turn, api);
  if (!offered.ok) return offered;
  if (idempotency !== null) {
    const known = recall(turn, "ask", idempotency);
    if (!known.ok) return known;
    if (known.value !== null) return ok(null);
  }
  const permitted = permitAsk(turn, isBackground);
  if (!permitted.ok) return permitted;
  const backlog = refuseBacklog(turn);
  if (!backlog.ok) return backlog;
  const found = model === null ? null : findModels(turn, { model, others: [], seed: "" });
  if (found?.ok === false) return found;
  const choice = found?.value.choices[0];
  const limited =
    model === null || choice === undefined
      ? refuseOverUse(turn, UNREAD, 0)
      : refuseOverLimits(turn, allowedAs(turn, model, choice), UNREAD, 0);
  return limited.ok ? ok(choice?.model ?? null) : limited;
};

/** A request whose body is not read yet. */
const UNREAD = [{ prompt: "", input: null }];

const refuseUnoffered = (turn: Turn, api: Api): Result<null, Refusal> => {
  const { fleet } = turn.memory;
  const isOffered =
    !isOptional(api) ||
    fleet.offers
      .answering(api)
      ?.members()
      .some((slot) => !isSilent(turn, fleet.at(slot)));
  return isOffered === true ? ok(null) : err({ code: "api_not_offered", api });
};

const open = (turn: Turn, request: Asking): Result<{ job: JobResource }, Refusal> => {
  const isBackground = isInBackground(request);
  const permitted = permitAsk(turn, isBackground);
  if (!permitted.ok) return permitted;
  if (isBackground && !mayStore(turn)) return err(NOTHING_STORED);
  const backlog = refuseBacklog(turn);
  if (!backlog.ok) return backlog;
  const id = request.id ?? turn.newId();
  const { model, others = [], beside = [], session } = request;
  const found = findModels(turn, { model, others, seed: session ?? id });
  if (!found.ok) return found;
  const limited = refuseOverLimits(turn, allowedAs(turn, model, found.value.choices[0]), [request], 0);
  if (!limited.ok) return limited;
  const allowed = refuseModels(turn, beside);
  if (!allowed.ok) return allowed;
  const opened = firstTaken(turn, request, id, found.value);
  if (!opened.ok) return opened;
  const { created, policy } = opened.value;
  const choice = permit(turn.memory.killswitch, "dispatch").ok ? chooseFor(turn, created.job, policy) : null;
  const presented = (job: Job): Result<{ job: JobResource }, Refusal> =>
    ok({ job: presentJob(job, { prompt: "", input: null }) });
  const keep = (): void => {
    if (request.response !== undefined && mayStore(turn)) addResponse(turn, id, request.response, request.input);
  };
  if (choice !== null) {
    keep();
    return presented(admitTo(turn, created, choice));
  }
  const isOffered = !isOptional(request.api) || isOnlyFull(turn.memory.fleet, routeRequest(turn, created.job), policy);
  if (!isOffered) return err({ code: "api_not_offered", api: request.api });
  if (!mayWait(turn, created.job)) return err(refusedAtOnce(turn, created.job));
  const room = refuseWaiting(turn, created.job);
  if (!room.ok) return room;
  keep();
  admit(turn, created, new Map(), policy);
  return presented(created.job);
};

/** Where history is to keep nothing of an answer, nothing else does. */
const mayStore = (turn: Turn): boolean => keepsResult(turn.memory.config.frontDoor.store);

const NOTHING_STORED: Refusal = {
  code: "unsupported_parameter",
  parameter: "background",
  detail: "background needs a stored answer, and the config stores none (front_door.store: none): leave it out",
};

/**
 * The job with the first model that somebody can take, now or, if the request may wait, when a place is free; if none,
 * with the first whose workers are full, or the first of all.
 */
const firstTaken = (
  turn: Turn,
  request: Asking,
  id: string,
  { choices, unknown }: FoundModels,
): Result<{ created: Decision; policy: RoutePolicy }, Refusal> => {
  const policy = routePolicy(turn);
  const tried: Tried[] = unknown.map((model) => ({ model, provider: null, code: "model_not_found" }));
  let first: Decision | null = null;
  let full: Decision | null = null;
  let held: { readonly created: Decision; readonly refusal: RefusalOf<"budget_reached"> } | null = null;
  for (const [at, choice] of choices.entries()) {
    const left = choices.slice(at + 1);
    const created = createJob(
      inFlow(turn, toNewJob(turn, request, choice, { left, tried })),
      id,
      turn.nowAt,
      turn.caller,
    );
    const budget = refuseOverBudget(turn, created.job);
    if (budget.ok) {
      const isOnly = left.length + tried.length === 0;
      const code = isOnly ? null : passedOver(turn, created.job, policy);
      const isFull = code === "queue_timeout";
      if (code === null || (isFull && mayWait(turn, created.job))) return ok({ created, policy });
      first ??= created;
      if (isFull) full ??= created;
      tried.push(triedOf(created.job, code));
    } else {
      const isSooner = held === null || budget.error.retryAfterSeconds < held.refusal.retryAfterSeconds;
      if (isSooner) held = { created, refusal: budget.error };
      tried.push(triedOf(created.job, budget.error.code));
    }
  }
  // In the background it waits for the budget that is open again first.
  const best = full ?? first ?? (isInBackground(request) ? held?.created : undefined);
  if (best !== undefined) return ok({ created: best, policy });
  return err(held?.refusal ?? { code: "model_not_found", model: request.model, known: [] });
};

/** Not where the request, or the config, says 0 seconds. */
const mayWait = ({ nowAt }: Turn, { queueUntilAt }: Job): boolean => queueUntilAt !== nowAt;

/** The request does not wait: the refusal that waiting would have ended with. */
const refusedAtOnce = (turn: Turn, job: Job): Refusal => {
  const policy = routePolicy(turn);
  const detail = pendingReason(turn, job, policy);
  if (isOnlyFull(turn.memory.fleet, routeRequest(turn, job), policy)) return { code: "queue_timeout", detail };
  return { code: "no_eligible_workers", detail, workers: [] };
};

/** The request's own wishes come before those of the choice. */
const asWished = (request: Asking, { model, provider, tags, tier }: ModelChoice): ModelChoice => ({
  model,
  provider: request.provider ?? provider,
  tags: [...tags, ...request.tags],
  tier: request.tier ?? tier,
});

const toNewJob = (
  turn: Turn,
  request: Asking,
  found: ModelChoice,
  { left, tried }: { readonly left: readonly ModelChoice[]; readonly tried: readonly Tried[] },
): NewJob => {
  const { api, stream, prompt, input, metadata = {}, session, headers, files = [], user = null } = request;
  const { priority, timeoutMs, queueMs } = request;
  const named = input === null ? null : { ...(input as Record<string, Json>), model: found.model };
  return {
    prompt,
    input: named,
    ...asWished(request, found),
    requestedModel: request.model,
    tried: [...tried],
    edge: request.edge !== false && mayUseEdge(turn),
    priority,
    timeoutMs,
    maxAttempts: null,
    runAt: null,
    schedule: null,
    traceparent: request.traceparent,
    metadata,
    stream,
    files,
    user,
    api,
    frontDoor: {
      session,
      headers,
      queueMs: queueMs ?? turn.memory.config.frontDoor.queueMs,
      isBodyHeld: input === null,
      ...(isInBackground(request) ? { isBackground: true as const } : {}),
      ...(request.heldBytes === undefined ? {} : { heldBytes: request.heldBytes }),
      isSessionHit: null,
      ...(turn.caller.secretHash === undefined ? {} : { openedWith: turn.caller.secretHash }),
      ...(left.length === 0 ? {} : { choices: left.map((one) => asWished(request, one)) }),
      ...(request.idempotency === null ? {} : { idempotencyKey: request.idempotency.key }),
    },
  };
};
