// A runtime's refusal in the form that a client of its API knows: with the runtime's status, code and message. A
// refused worker key is reported as the worker's fault, because the client cannot fix it.

import { lineOf, startOf } from "../../contract/text/start-of.ts";
import { type ErrorBody, readErrorBody } from "./error-body.ts";
import { classifyFailure, type RuntimeFailure } from "./failure.ts";
import type { JobFailure } from "./runtime.ts";

const MAX_MESSAGE_CHARS = 2000;
const MAX_CODE_CHARS = 64;

/** The code that clients know, if the runtime gives none. */
const CODE_OF: ReadonlyMap<string, string> = new Map([
  ["model_not_found", "model_not_found"],
  ["no_model_loaded", "model_not_found"],
  ["context_length", "context_length_exceeded"],
  ["rate_limited", "rate_limit_exceeded"],
  ["quota_exhausted", "insufficient_quota"],
]);
const CODE_OF_STATUS: ReadonlyMap<number, string> = new Map([
  [404, "not_found"],
  [413, "payload_too_large"],
]);

/** @param runtime its name, for the message about its key. */
export const requestFailure = (runtime: string, failure: RuntimeFailure, nowMs: number): JobFailure => {
  const known = classifyFailure(failure, nowMs);
  if (known.code === "unauthorized") {
    const message = `${runtime} refused this worker's key, not yours: the worker's operator must set a valid key`;
    return { code: "provider_refused", message, status: 502, retryable: false };
  }
  const { status } = known;
  const body = readErrorBody(failure.body ?? "");
  const isUntold = body.status === undefined && (failure.status ?? 0) < 400;
  const told = body.code ?? CODE_OF.get(known.code) ?? body.type;
  if (isUntold && told !== undefined) return { ...known, ...inItsWords(known, body, told, known.code) };
  if (status === undefined || status >= 500) return known;
  return { ...known, ...inItsWords(known, body, told, CODE_OF_STATUS.get(status) ?? "invalid_request") };
};

const inItsWords = (
  known: JobFailure,
  body: ErrorBody,
  code: string | undefined,
  fallback: string,
): Pick<JobFailure, "code" | "message"> => ({
  code: lineOf(code ?? "", MAX_CODE_CHARS) || fallback,
  message: startOf(body.message || known.message, MAX_MESSAGE_CHARS),
});
