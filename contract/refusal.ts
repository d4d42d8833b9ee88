// Refusal → HTTP: one row per code; a code without a row does not compile. Titles are the specification's words where
// it has any.

import { isLeasedStatus, type JobStatus } from "../domain/words/job-status.ts";
import type { Refusal, RefusalCode, RefusalOf } from "../domain/words/refusal.ts";
import { presentVerdict } from "./dispatch.ts";
import type { ProblemResource } from "./words/problem.ts";

interface Wire<Code extends RefusalCode> {
  readonly status: number;
  readonly title: string;
  readonly detail: (refusal: RefusalOf<Code>) => string;
  /** Seconds for `Retry-After`. */
  readonly retryAfter?: (refusal: RefusalOf<Code>) => number;
}

/** Why a job that has not ended well is not retried: its worker has it, or it is a request of the front door. */
const notRetried = (status: JobStatus): string => {
  if (isLeasedStatus(status)) return ", and its worker is not offline";
  return status === "failed" ? ", and nobody waits for its answer: send the request again" : "";
};

const AUTHENTICATION_FAILED = "Authentication failed";
const seconds = (refusal: { retryAfterSeconds: number }): number => Math.max(1, Math.ceil(refusal.retryAfterSeconds));

export const WIRE: { readonly [Code in RefusalCode]: Wire<Code> } = {
  invalid_request: { status: 400, title: "Invalid request", detail: ({ detail }) => detail },
  authentication_failed: { status: 401, title: AUTHENTICATION_FAILED, detail: ({ detail }) => detail },
  key_revoked: { status: 401, title: AUTHENTICATION_FAILED, detail: () => "this key was revoked: use another one" },
  key_suspended: { status: 401, title: AUTHENTICATION_FAILED, detail: ({ detail }) => detail },
  key_rotated: { status: 401, title: AUTHENTICATION_FAILED, detail: () => "this key was rotated: use the new one" },
  forbidden: { status: 403, title: "Forbidden", detail: ({ detail }) => detail },
  not_found: {
    status: 404,
    title: "Not found",
    detail: ({ kind, id, hint = "" }) => `${kind} ${JSON.stringify(id.slice(0, 128))} not found${hint}`,
  },
  method_not_allowed: {
    status: 405,
    title: "Method not allowed",
    detail: ({ allow }) => `use ${allow.join(" or ")} for this path`,
  },
  payload_too_large: {
    status: 413,
    title: "Payload too large",
    detail: ({ limitBytes }) => `the body may have at most ${limitBytes} bytes`,
  },
  uri_too_long: {
    status: 414,
    title: "URI too long",
    detail: ({ limitBytes }) => `the address may have at most ${limitBytes} bytes`,
  },
  headers_too_large: {
    status: 431,
    title: "Request header fields too large",
    detail: ({ limitBytes }) => `the address and the headers may have at most ${limitBytes} bytes together`,
  },
  unsupported_media_type: {
    status: 415,
    title: "Unsupported media type",
    detail: ({ expected }) => `send the body as Content-Type: ${expected}`,
  },
  request_timeout: {
    status: 408,
    title: "Request timeout",
    detail: ({ afterMs }) => `the body did not arrive within ${afterMs / 1000} s`,
  },
  upgrade_required: {
    status: 426,
    title: "Upgrade required",
    detail: () => "this address is a WebSocket: connect with Upgrade: websocket",
  },
  job_completed: {
    status: 409,
    title: "Job is completed",
    detail: ({ id }) => `job ${id} is completed: its tags, priority and tier are final`,
  },
  job_state: {
    status: 409,
    title: "Job state forbids it",
    detail: ({ id, status, command }) =>
      `cannot ${command} job ${id}: it is ${status}${command === "retry" ? notRetried(status) : ""}`,
  },
  texts_gone: {
    status: 409,
    title: "Texts are gone",
    detail: ({ id }) => `job ${id} has no prompt any more (history.keep_texts_days): create a new job`,
  },
  job_archived: {
    status: 409,
    title: "Job is archived",
    detail: ({ id }) => `job ${id} has left history for the archive and stays as it is: create a new job`,
  },
  lease_lost: {
    status: 409,
    title: "Lease lost",
    detail: ({ id, lease, current, status }) =>
      lease === current
        ? `lease ${lease} of job ${id} is over${status === null ? "" : ` (the job is ${status})`}: drop the work`
        : `lease ${lease} of job ${id} is over (it is at lease ${current}): drop the work`,
  },
  count_changed: {
    status: 409,
    title: "Count changed",
    detail: ({ expected, matched }) =>
      `the filter matches ${matched}, not ${expected}: check it, then repeat with expected ${matched}`,
  },
  too_many_workers: {
    status: 409,
    title: "Too many workers",
    detail: ({ limit }) => `this tenant has ${limit} workers, which is the maximum: delete offline workers first`,
  },
  too_many_offers: {
    status: 409,
    title: "Too many offers",
    detail: ({ limitBytes }) =>
      `the models, runtime models and tags of this tenant's workers are at ${limitBytes} bytes, which is the maximum: name fewer, or delete offline workers`,
  },
  too_many_keys: {
    status: 409,
    title: "Too many keys",
    detail: ({ limit, limitChars }) =>
      `this tenant's keys are at ${limit}, or at ${limitChars} characters with their limits, which is the maximum: revoke keys first`,
  },
  too_many_schedules: {
    status: 409,
    title: "Too many schedules",
    detail: ({ limit, limitChars }) =>
      `this tenant's schedules are at ${limit}, or at ${limitChars} characters with their prompts, which is the maximum: delete schedules first`,
  },
  worker_not_offline: {
    status: 409,
    title: "Worker is not offline",
    detail: ({ instance }) => `worker ${instance} is not offline: stop it first`,
  },
  instance_taken: {
    status: 409,
    title: "Instance taken",
    detail: ({ instance }) =>
      `worker ${instance} is alive and was registered with another key: choose another name, or stop that worker first`,
  },
  last_admin_key: {
    status: 409,
    title: "Last admin key",
    detail: () => "this is the tenant's last admin key: create another admin key first",
  },
  key_inactive: { status: 409, title: "Key is revoked", detail: ({ id }) => `key ${id} was revoked: create a new one` },
  batches_under_way: {
    status: 409,
    title: "Batches under way",
    detail: ({ count }) => `batches under way: ${count}. A batch's lines do not move: cancel each, or wait for its end`,
  },
  tenant_moved: {
    status: 410,
    title: "Tenant moved",
    detail: ({ to }) => `this tenant has moved to ${to}: send its requests there`,
  },
  tenant_exists: {
    status: 409,
    title: "Tenant exists",
    detail: ({ tenant }) => `tenant "${tenant}" already exists: choose another name`,
  },
  schedule_exists: {
    status: 409,
    title: "Schedule exists",
    detail: ({ name }) => `schedule "${name}" already exists: change it with PUT, or choose another name`,
  },
  subscription_exists: {
    status: 409,
    title: "Subscription exists",
    detail: ({ provider }) =>
      `a subscription for provider "${provider}" with this url already exists: change that one, or give another url`,
  },
  sync_in_progress: {
    status: 409,
    title: "Sync in progress",
    detail: ({ id }) => `subscription ${id} is being synced: try again when that has finished`,
  },
  etag_mismatch: {
    status: 412,
    title: "Precondition failed",
    detail: ({ current }) => `the config has changed; its ETag is now ${current}: read it again`,
  },
  idempotency_key_reused: {
    status: 422,
    title: "Idempotency key reused",
    detail: () => "this Idempotency-Key was used with a different request: use a new key",
  },
  rate_limited: {
    status: 429,
    title: "Too many requests",
    detail: () => "too many requests: wait for the seconds in Retry-After, then try again",
    retryAfter: seconds,
  },
  rate_limit_exceeded: {
    status: 429,
    title: "Rate limit exceeded",
    detail: ({ detail }) => detail,
    retryAfter: seconds,
  },
  too_many_groups: {
    status: 429,
    title: "Too many groups",
    detail: ({ limit }) =>
      `jobs with ${limit} different requirements (provider, model, tags) wait in this tenant, which is the maximum: use fewer different tags, or wait until some have run`,
    retryAfter: seconds,
  },
  tenant_full: {
    status: 507,
    title: "Tenant full",
    detail: ({ maxGb }) =>
      `this tenant stores its ${maxGb} GB: shorten history.keep_days, or ask the operator for a larger max_gb. Nothing was changed`,
  },
  insufficient_quota: { status: 429, title: "Insufficient quota", detail: ({ detail }) => detail },
  model_not_found: {
    status: 404,
    title: "Model not found",
    detail: ({ model, known }) =>
      `no worker offers model ${JSON.stringify(model.slice(0, 128))}; ${known.length === 0 ? "none offers any: start a worker that has it" : `some that there are: ${known.join(", ")}`}`,
  },
  api_not_offered: {
    status: 404,
    title: "Not found",
    detail: ({ api }) => `no worker offers /v1/${api} for this request: start one whose runtime has it`,
  },
  unsupported_parameter: { status: 400, title: "Unsupported parameter", detail: ({ detail }) => detail },
  queue_timeout: { status: 504, title: "Queue timeout", detail: ({ detail }) => detail },
  stream_gone: {
    status: 410,
    title: "Stream gone",
    detail: () => "the stream is no longer stored from that event on: read the job instead",
  },
  reader_gone: { status: 409, title: "Reader gone", detail: () => "this stream has no reader any more: stop writing" },
  too_many_readers: {
    status: 429,
    title: "Too many readers",
    detail: ({ limit }) => `the stream has ${limit} readers, the most that it may have: try again when one has left`,
    retryAfter: () => 5,
  },
  provider_failed: { status: 502, title: "Provider failed", detail: ({ detail }) => detail },
  no_eligible_workers: {
    status: 503,
    title: "No eligible workers",
    detail: ({ detail }) => detail,
    retryAfter: () => 5,
  },
  killswitch_active: {
    status: 503,
    title: "Killswitch active",
    detail: ({ level, reason }) =>
      `the killswitch is at level ${level}${reason === "" ? "" : ` (${reason})`}: try again when it is cleared`,
    retryAfter: () => 30,
  },
  budget_reached: { status: 503, title: "Budget reached", detail: ({ detail }) => detail, retryAfter: seconds },
  history_backlog: {
    status: 503,
    title: "History backlog",
    detail: () => "too many jobs wait in the queue or for the history store: try again when there are fewer",
    retryAfter: seconds,
  },
  history_unavailable: {
    status: 503,
    title: "History unavailable",
    detail: () => "the history store does not answer, or has much to catch up with: try again later. Dispatch works",
    retryAfter: seconds,
  },
  archive_damaged: {
    status: 503,
    title: "Archive damaged",
    detail: ({ part }) =>
      `part ${part} of the archive is missing or damaged: the operator brings it back from a backup, or from where the tenant was before`,
  },
  files_full: {
    status: 507,
    title: "Files full",
    detail: ({ of, count, maxCount, heldBytes, limitBytes }) =>
      count < maxCount
        ? `this ${of}'s files take ${heldBytes} bytes of ${limitBytes}: delete files, or raise files.max_gb in the config`
        : `this ${of} has ${count} files, which is the maximum: delete files`,
  },
  file_too_large: { status: 413, title: "File too large", detail: ({ detail }) => detail },
  result_too_large: { status: 413, title: "Result too large", detail: ({ detail }) => detail },
  result_file_unknown: {
    status: 409,
    title: "Result file unknown",
    detail: ({ id, jobId }) =>
      `file ${JSON.stringify(id.slice(0, 128))} is no result of job ${jobId}: send it with PUT /api/jobs/${jobId}/result first`,
  },
  file_in_use: {
    status: 409,
    title: "File in use",
    detail: ({ id, batch }) => `file ${id} is the input of batch ${batch}, which is under way: cancel the batch first`,
  },
  batch_state: {
    status: 409,
    title: "Batch state forbids it",
    detail: ({ id, status, command }) => `cannot ${command} batch ${id}: it is ${status}`,
  },
  too_many_batches: {
    status: 429,
    title: "Too many batches",
    detail: ({ of, limit, areEnded }) =>
      `this ${of} has ${limit} batches, which is the maximum: ${areEnded ? "delete some that have ended; each is forgotten 30 days after its end" : "wait until some have ended"}`,
    retryAfter: seconds,
  },
  models_not_managed: {
    status: 409,
    title: "Models not managed",
    detail: ({ instance }) =>
      `worker ${instance} takes no model tasks: its machine's owner starts it with --manage-models to allow them`,
  },
  action_not_supported: {
    status: 409,
    title: "Action not supported",
    detail: ({ instance, action, can }) => `worker ${instance} cannot ${action} models, only ${can.join(", ")} them`,
  },
  task_over: {
    status: 409,
    title: "Model task over",
    detail: ({ id, status }) => `model task ${id} is ${status}: nothing more is expected of it`,
  },
  too_many_model_tasks: {
    status: 429,
    title: "Too many model tasks",
    detail: ({ limit }) =>
      `${limit} model tasks are not over, which is the maximum: wait until some are, or cancel them`,
    retryAfter: seconds,
  },
  range_not_satisfiable: {
    status: 416,
    title: "Range not satisfiable",
    detail: ({ bytes }) => `the file has ${bytes} bytes: ask for a range within them`,
  },
  storage_full: {
    status: 503,
    title: "Storage full",
    detail: () => "the disk that holds the data is full: free some space. Nothing was changed",
    retryAfter: seconds,
  },
  tenant_unavailable: {
    status: 503,
    title: "Tenant unavailable",
    detail: ({ isMoving }) =>
      isMoving
        ? "this tenant is moving to another deployment: try again until it is served here or its new address is named"
        : "the tenant's process does not answer. A request that creates something may have been carried out: repeat it with its Idempotency-Key",
    retryAfter: seconds,
  },
  overloaded: {
    status: 503,
    title: "Overloaded",
    detail: ({ isProcess }) => `${isProcess ? "the service" : "this tenant"} is at its limit: try again later`,
    retryAfter: seconds,
  },
};

const PROBLEM_BASE = "/docs#problem-";

const wireOf = <Code extends RefusalCode>(code: Code): Wire<Code> => WIRE[code];

export const retryAfterOf = (refusal: Refusal): number | null =>
  wireOf(refusal.code).retryAfter?.(refusal as never) ?? null;

/** The problem document of a refusal; `instance` is the id of the request or message. */
export const presentRefusal = (refusal: Refusal, instance: string): ProblemResource => {
  const wire = wireOf(refusal.code);
  return {
    type: `${PROBLEM_BASE}${refusal.code}`,
    title: wire.title,
    status: wire.status,
    detail: wire.detail(refusal as never),
    instance,
    code: refusal.code,
    ...(refusal.code === "invalid_request" ? { errors: [...refusal.errors] } : {}),
    ...(refusal.code === "no_eligible_workers" ? { workers: refusal.workers.map(presentVerdict) } : {}),
  };
};
