// The values of the API that clients use at run time, not only as types: statuses, priorities, close codes. Free of
// zod, so a browser or SDK that imports them bundles no schema.

export { ROLES, type Role } from "../../domain/access/key.ts";
export { readPath } from "../../domain/catalog/catalog-path.ts";
export { BUDGET_ACTIONS, STRATEGIES } from "../../domain/config.ts";
export { MAX_LARGE_RESULT_BYTES } from "../../domain/file/file.ts";
export {
  LOCAL_RUNTIMES,
  type LocalRuntimeName,
  localRuntimeOf,
  SOUGHT_RUNTIMES,
} from "../../domain/fleet/local-runtime.ts";
export { inOwnWords, NO_MODEL_LOADED, saysNoSuchModel } from "../../domain/fleet/missing-model.ts";
export { listedKeysOf, MAX_RUNTIME_MODELS } from "../../domain/fleet/model-name.ts";
export { isTaskOver } from "../../domain/fleet/model-task.ts";
export { pauseText } from "../../domain/fleet/pause.ts";
export { type Standing, standingOf } from "../../domain/fleet/standing.ts";
export { MAX_CONCURRENCY, WORKER_STATUSES, type WorkerStatus } from "../../domain/fleet/worker.ts";
export { WORKER_SORTS, WORKER_STATES, type WorkerSort, type WorkerState } from "../../domain/fleet/worker-state.ts";
export { ROLLING_PERIODS, type RollingPeriod } from "../../domain/insight/slots.ts";
export { PERIODS, type Period } from "../../domain/money/period.ts";
export { usdText } from "../../domain/money/usd-text.ts";
export { parseInterval } from "../../domain/schedule/interval.ts";
export { OVERLAPS, SCHEDULE_STATUSES } from "../../domain/schedule/schedule-status.ts";
export { DISABLED_REASONS, WEBHOOK_EVENTS, type WebhookEvent } from "../../domain/webhook.ts";
export { APIS, type Api, BYTE_APIS, isFormApi, isSpeech } from "../../domain/words/api.ts";
export { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../domain/words/duration.ts";
export { entryOf } from "../../domain/words/entry-of.ts";
export {
  CHANGEABLE_STATUSES,
  isFinal,
  isLeasedStatus,
  JOB_STATUSES,
  type JobStatus,
  USUAL_STATUSES,
} from "../../domain/words/job-status.ts";
export type { Json } from "../../domain/words/json.ts";
export { modelKeyOf } from "../../domain/words/model-key.ts";
export { PRIORITIES, type Priority, TIERS, type Tier } from "../../domain/words/requirements.ts";
export { SCORE_PARTS, type ScorePart } from "../../domain/words/score-part.ts";

export const KILLSWITCH_LEVELS = [0, 1, 2, 3, 4] as const;

/** Longest time, in seconds, that a request may wait for its answer. */
export const MAX_WAIT_SECONDS = 25;
/** Where a service answers that was started on this machine without settings. */
export const LOCAL_URL = "http://127.0.0.1:8787";
export const WEBHOOK_SECRET_PREFIX = "whsec_";
export const MAX_PAGE = 200;
export const MAX_OFFSET = 10_000;
export const MAX_BATCH_JOBS = 500;
/** On how many workers one request places a model. */
export const MAX_COPIES = 1_000;
/** How many of a schedule's next runs an answer tells. */
export const MAX_PREVIEW = 50;
/** What the live view has of a prompt. */
export const PROMPT_START_CHARS = 200;
/** How many workers that have not confirmed a halt are named. */
export const MAX_UNCONFIRMED = 200;

export const closeCodes = {
  /** The key was revoked or rotated. */
  keyEnded: 4401,
  /** Another connection of the same instance replaced this one. */
  replaced: 4409,
  /** A frame is too large, is not JSON, or has too many messages. */
  badFrame: 4400,
  /** Nothing was said on it, and there are too many: reconnect when there is something to say. */
  idle: 4408,
  /** More messages are in progress than allowed: reconnect later. */
  tooManyMessages: 4429,
} as const;
