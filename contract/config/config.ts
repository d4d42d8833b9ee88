// The tenant's configuration as a document: what PUT /config takes and GET /config returns, with all defaults filled
// in.

import * as z from "zod";
import {
  BUDGET_ACTIONS,
  type Config,
  DEFAULT_RATE_LIMIT,
  DEFAULT_WEIGHTS,
  EDGE_MODES,
  type EdgeConfig,
  fallbacksOf,
  type ProviderConfig,
  STRATEGIES,
} from "../../domain/config.ts";
import { LOCAL_RUNTIME_NAMES } from "../../domain/fleet/local-runtime.ts";
import { MAX_CONCURRENCY } from "../../domain/fleet/worker.ts";
import { chainOf } from "../../domain/routing/strategy.ts";
import { BYTES_A_GB } from "../../domain/tenant/storage-use.ts";
import { FAIRNESS } from "../../domain/words/fairness.ts";
import { TIERS } from "../../domain/words/requirements.ts";
import { SCORE_PARTS } from "../../domain/words/score-part.ts";
import { frontDoorConfig, toFrontDoorConfig } from "../front-door/front-door.ts";
import { modelName, providerName, recordUpTo, seconds, tags, toMs, toMsOrNull, usd } from "../words/field.ts";

const MAX_PROVIDERS = 200;
const MAX_PRICES = 1000;
const MAX_EDGE_MODELS = 500;
/** The default of a service that was deployed is its operator's (`config-history.ts`). */
export const days = z.int().min(1).max(36_500).nullable().default(null);
const MAX_EDGE_PLACES = 256;
const DAY_SECONDS = 86_400;
export const MIN_HEARTBEAT_SECONDS = 0.1;
const MAX_REQUESTS = 1_000_000;
const MAX_FILES_GB = 1_000_000;
const MAX_FORGET_SECONDS = 3650 * DAY_SECONDS;

const price = z
  .strictObject({
    input_per_mtok: usd.optional(),
    output_per_mtok: usd.optional(),
    cached_input_per_mtok: usd.optional(),
    per_request: usd.optional(),
  })
  .meta({ id: "Price", description: "US dollars, per million tokens or per request" });

const rateLimit = z.strictObject({
  max_concurrent: z.int().min(1).max(100_000).nullish().meta({ description: "jobs that the provider runs at a time" }),
  retry_after_seconds: seconds(0, DAY_SECONDS)
    .default(DEFAULT_RATE_LIMIT.retryAfterMs / 1000)
    .meta({ description: "the first wait after a 429" }),
  max_retries: z
    .int()
    .min(0)
    .max(100)
    .default(DEFAULT_RATE_LIMIT.maxRetries)
    .meta({ description: "tries after a 429, before the job fails" }),
});

const edge = z
  .strictObject({
    enabled: z.boolean().default(false),
    models: z.array(modelName).min(1).max(MAX_EDGE_MODELS).nullish().meta({
      description: "exact names, or patterns with `*`; without it, what the catalog's subscription lists",
    }),
    max_concurrent: z.int().min(1).max(MAX_EDGE_PLACES).default(16).meta({ description: "calls at a time" }),
    as: z.enum(EDGE_MODES).default("fallback").meta({
      description:
        "fallback: only while no other worker can take the job, or once it has waited `after_seconds`; peer: as any other worker",
    }),
    after_seconds: seconds(0, DAY_SECONDS).default(20),
    tier: z.enum(TIERS).nullish().meta({ description: "that it offers, as a worker does" }),
    tags: tags.default([]).meta({ description: "that it offers, as a worker does" }),
  })
  .meta({ id: "EdgeConfig", description: "the coordinator calls the provider itself, without a worker process" });

const limits = { day_usd: usd.nullable().default(null), month_usd: usd.nullable().default(null) };

const provider = z.strictObject({
  rate_limit: rateLimit.nullish(),
  pricing: recordUpTo(MAX_PRICES, modelName, price).optional(),
  edge: edge.nullish(),
  budget: z
    .strictObject(limits)
    .nullish()
    .meta({ description: "what this provider may cost; once reached, it gets no new jobs until the period ends" }),
});

const requests = z.int().min(1).max(MAX_REQUESTS);

const weight = z.number().min(0).max(1000);
const weights = z.strictObject(
  Object.fromEntries(SCORE_PARTS.map((part) => [part, weight.default(DEFAULT_WEIGHTS[part])])),
);

/** A section for each local runtime names its model: `ollama: {model: llama3.2}`. */
const runtime = z.strictObject({ model: modelName.nullish().meta({ description: "of jobs that name none" }) });

export const configDocument = z
  .strictObject({
    jobs: z
      .strictObject({
        timeout_seconds: seconds(0.1, 30 * DAY_SECONDS)
          .nullable()
          .default(900)
          .meta({ description: "how long a job runs at most, unless it says so itself" }),
        reap_stale_after_seconds: seconds(0.1, 30 * DAY_SECONDS)
          .nullable()
          .default(120)
          .meta({ description: "how long a worker is silent before its running job goes back to the queue" }),
        max_attempts: z.int().min(1).max(100).default(5).meta({ description: "tries of a job, the first included" }),
        accept_within_seconds: seconds(0.1, DAY_SECONDS)
          .default(30)
          .meta({ description: "how long a worker has a job without starting it before the next one gets it" }),
        retry: z
          .strictObject({
            backoff_seconds: seconds(0, DAY_SECONDS).default(1).meta({
              description: "seconds to wait after a job's first failed attempt; doubles with each further one",
            }),
            max_backoff_seconds: seconds(0, DAY_SECONDS)
              .default(300)
              .meta({ description: "the longest wait between two attempts" }),
          })
          .prefault({}),
      })
      .prefault({}),
    presence: z
      .strictObject({
        heartbeat_interval_seconds: seconds(MIN_HEARTBEAT_SECONDS, 3600)
          .default(15)
          .meta({ description: "how often a worker is to report" }),
        offline_after_seconds: seconds(0.2, DAY_SECONDS)
          .default(60)
          .meta({ description: "how long a worker is silent before it is offline" }),
        forget_after_seconds: seconds(1, MAX_FORGET_SECONDS)
          .default(7 * DAY_SECONDS)
          .meta({ description: "seconds after which an offline worker is forgotten" }),
      })
      .prefault({}),
    providers: recordUpTo(MAX_PROVIDERS, providerName, provider).prefault({}),
    routing: z
      .strictObject({
        strategy: z.enum(STRATEGIES).default("score").meta({
          description:
            "what counts before the score: nothing; the place in `chain`, whose next provider gets what fails; the share of free places; the price; how long ago a worker had a job",
        }),
        chain: z.array(providerName).max(50).default([]).meta({ description: "providers, of `fallback` alone" }),
        weights: weights.prefault({}).meta({ description: "what each part counts in a score, of the sum of all" }),
        swap_wait_seconds: seconds(0, DAY_SECONDS).nullable().default(null).meta({
          description:
            "where a worker holds as many models as it can (`max_loaded`), a job for another model waits while jobs for the loaded ones wait, at most so long; null: it does not wait",
        }),
      })
      .refine((routing) => chainOf(routing)?.length !== 0, {
        path: ["chain"],
        message: "name at least one provider: the fallback strategy tries the providers of this chain in order",
      })
      .prefault({}),
    budget: z
      .strictObject({
        ...limits,
        on_reached: z.enum(BUDGET_ACTIONS).default("reject").meta({
          description:
            "reject: what costs money gets no new jobs until the period ends; killswitch: level 1 until it is cleared",
        }),
      })
      .prefault({}),
    api: z
      .strictObject({
        limits: z
          .strictObject({
            requests_per_second: z.number().min(0.001).max(MAX_REQUESTS).nullable().default(null),
            burst: requests
              .nullable()
              .default(null)
              .meta({ description: "requests at once, after a pause; null: those of one second" }),
            in_flight: requests.nullable().default(null).meta({ description: "requests in progress" }),
          })
          .prefault({})
          .meta({
            description:
              "limits of each key, null for none; a request above a limit is 429. The killswitch, job reports and heartbeats do not count",
          }),
      })
      .prefault({}),
    front_door: frontDoorConfig.prefault({}),
    history: z
      .strictObject({
        keep_days: days.meta({ description: "days after which finished jobs are deleted; null keeps them for ever" }),
        keep_texts_days: days.meta({
          description:
            "days after which the prompts, inputs and results of finished jobs are deleted; null keeps them as long as their jobs",
        }),
      })
      .prefault({}),
    files: z
      .strictObject({
        max_gb: z
          .number()
          .positive()
          .max(MAX_FILES_GB)
          .default(5)
          .meta({ description: "GB (10⁹ bytes) that all files may take; a fraction is allowed" }),
      })
      .prefault({}),
    batches: z
      .strictObject({
        keep_free: z
          .int()
          .min(0)
          .max(MAX_CONCURRENCY)
          .default(1)
          .meta({ description: "of a worker with more than one place, so many stay free for other work than batches" }),
        quiet_seconds: seconds(0, DAY_SECONDS)
          .default(0)
          .meta({ description: "seconds after other work in which a worker gets no line of a batch" }),
      })
      .prefault({}),
    capacity: z
      .strictObject({
        after_seconds: z
          .number()
          .min(1)
          .max(86_400)
          .default(10)
          .meta({ description: "how long jobs wait before the webhook event `capacity.wanted` is sent" }),
        idle_seconds: z
          .number()
          .min(1)
          .max(604_800)
          .default(900)
          .meta({ description: "how long a worker is without work before the webhook event `capacity.idle` is sent" }),
        for_batches: z
          .boolean()
          .default(false)
          .meta({ description: "whether lines of batches alone want capacity, too" }),
      })
      .prefault({}),
    fairness: z
      .strictObject({
        by: z.enum(FAIRNESS).default("key").meta({
          description:
            "whose jobs take turns among equal ones: those of each key, of each person that a key's requests name, or nobody's; a job's own `fairness_key` always binds",
        }),
      })
      .prefault({}),
    ...Object.fromEntries(LOCAL_RUNTIME_NAMES.map((name) => [name, runtime.optional()])),
  })
  .refine((config) => config.presence.offline_after_seconds > config.presence.heartbeat_interval_seconds, {
    path: ["presence", "offline_after_seconds"],
    message:
      "must be longer than presence.heartbeat_interval_seconds, or every worker is offline between two heartbeats",
  })
  .meta({ id: "Config" });

export type ConfigRequest = z.input<typeof configDocument>;
export type ConfigDocument = z.infer<typeof configDocument>;

export const DEFAULT_CONFIG_DOCUMENT: ConfigDocument = configDocument.parse({});

/** The document in the form that the rules read. */
export const toConfig = (document: ConfigDocument): Config => {
  const providers = new Map(Object.entries(document.providers).map(([name, given]) => [name, toProvider(given)]));
  return { ...toSettings(document), providers, edgeAfterMs: fallbacksOf(providers) };
};

const toSettings = (document: ConfigDocument): Omit<Config, "providers" | "edgeAfterMs"> => ({
  jobs: {
    timeoutMs: toMsOrNull(document.jobs.timeout_seconds),
    reapStaleAfterMs: toMsOrNull(document.jobs.reap_stale_after_seconds),
    maxAttempts: document.jobs.max_attempts,
    acceptWithinMs: toMs(document.jobs.accept_within_seconds),
    retry: {
      backoffMs: toMs(document.jobs.retry.backoff_seconds),
      maxBackoffMs: toMs(document.jobs.retry.max_backoff_seconds),
    },
  },
  presence: {
    heartbeatIntervalMs: toMs(document.presence.heartbeat_interval_seconds),
    offlineAfterMs: toMs(document.presence.offline_after_seconds),
    forgetAfterMs: toMs(document.presence.forget_after_seconds),
  },
  routing: {
    strategy: document.routing.strategy,
    chain: [...new Set(document.routing.chain)],
    weights: { ...DEFAULT_WEIGHTS, ...document.routing.weights },
    swapWaitMs: toMsOrNull(document.routing.swap_wait_seconds),
  },
  budget: {
    dayUsd: document.budget.day_usd,
    monthUsd: document.budget.month_usd,
    onReached: document.budget.on_reached,
  },
  requestLimits: {
    requestsPerSecond: document.api.limits.requests_per_second,
    burst: document.api.limits.burst,
    inFlight: document.api.limits.in_flight,
  },
  frontDoor: toFrontDoorConfig(document.front_door),
  history: { keepDays: document.history.keep_days, keepTextsDays: document.history.keep_texts_days },
  batches: { keepFree: document.batches.keep_free, quietMs: toMs(document.batches.quiet_seconds) },
  fairness: document.fairness.by,
  capacity: {
    afterMs: toMs(document.capacity.after_seconds),
    idleMs: toMs(document.capacity.idle_seconds),
    isForBatches: document.capacity.for_batches,
  },
  files: { maxBytes: Math.round(document.files.max_gb * BYTES_A_GB) },
});

const toEdge = (given: z.infer<typeof edge>): EdgeConfig => ({
  models: given.models ?? null,
  maxConcurrent: given.max_concurrent,
  as: given.as,
  afterMs: toMs(given.after_seconds),
  tier: given.tier ?? null,
  tags: given.tags,
});

const toProvider = (given: z.infer<typeof provider>): ProviderConfig => ({
  edge: given.edge?.enabled === true ? toEdge(given.edge) : null,
  rateLimit:
    given.rate_limit == null
      ? null
      : {
          maxConcurrent: given.rate_limit.max_concurrent ?? null,
          retryAfterMs: toMs(given.rate_limit.retry_after_seconds),
          maxRetries: given.rate_limit.max_retries,
        },
  budget: given.budget == null ? null : { dayUsd: given.budget.day_usd, monthUsd: given.budget.month_usd },
  pricing: Object.fromEntries(
    Object.entries(given.pricing ?? {}).map(([model, dollars]) => [
      model,
      {
        inputPerMtok: dollars.input_per_mtok,
        outputPerMtok: dollars.output_per_mtok,
        cachedInputPerMtok: dollars.cached_input_per_mtok,
        perRequest: dollars.per_request,
      },
    ]),
  ),
});
