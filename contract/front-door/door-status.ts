// How a job's end is reported to a client of the front door: status, code, and whether to try again.

import type { JobError } from "../../domain/job/job.ts";
import { entryOf } from "../../domain/words/entry-of.ts";
import type { RefusalCode } from "../../domain/words/refusal.ts";
import { WIRE } from "../refusal.ts";
import type { DoorError } from "./dialect.ts";

/** A job may end for what could have refused its request; the status is the same. */
const REFUSALS = [
  "invalid_request",
  "unsupported_parameter",
  "insufficient_quota",
  "rate_limit_exceeded",
  "forbidden",
  "model_not_found",
  "not_found",
  "payload_too_large",
  "no_eligible_workers",
  "killswitch_active",
  "budget_reached",
  "storage_full",
  "overloaded",
  "queue_timeout",
] as const satisfies readonly RefusalCode[];

/** Signalbox's own codes; any other code comes from the worker or its runtime. */
const STATUS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(REFUSALS.map((code) => [code, WIRE[code].status])),
  bad_request: 400,
  unsupported_input: 400,
  context_length_exceeded: 400,
  invalid_api_key: 401,
  client_closed: 499,
  slow_reader: 499,
  cancelled: 499,
  worker_lost: 502,
  stream_lost: 502,
  provider_refused: 502,
  runtime_unreachable: 502,
  attempts_exhausted: 502,
  timeout: 504,
  first_token_timeout: 504,
};

/** Worker codes that these APIs call by another name. */
const RENAMED: Readonly<Record<string, string>> = {
  context_length: "context_length_exceeded",
  rate_limited: "rate_limit_exceeded",
  quota_exhausted: "insufficient_quota",
};

const isOwnRefusal = (status: number | undefined): status is number =>
  status !== undefined && status >= 400 && status < 500;
/** A refusal of the worker's provider key, not of the client's. */
const isAboutTheKey = (status: number | undefined): boolean => status === 401 || status === 403 || status === 407;

export const doorErrorOf = (error: Pick<JobError, "code" | "message" | "status"> | null): DoorError => {
  if (error === null) return { code: "cancelled", message: "the job was cancelled", status: 499 };
  const { message, status } = error;
  const code = entryOf(RENAMED, error.code) ?? error.code;
  if (code === "unauthorized" || isAboutTheKey(status)) return { code: "provider_refused", message, status: 502 };
  if (isOwnRefusal(status)) return { code, message, status };
  return { code, message, status: entryOf(STATUS, code) ?? (status === undefined ? 500 : 502) };
};

const NEVER_AGAIN = new Set([
  "insufficient_quota",
  "killswitch_active",
  "budget_reached",
  "timeout",
  "queue_timeout",
  "first_token_timeout",
]);

/** `x-should-retry`; null leaves it to the client. After the first token a retry would repeat output. */
export const shouldRetry = (code: string, hasFirstToken: boolean): boolean | null =>
  NEVER_AGAIN.has(code) || hasFirstToken ? false : null;
