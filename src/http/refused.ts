// A refusal as an exception: `unwrap` throws it, the app's onError turns it into a problem document.

import { presentRefusal, retryAfterOf } from "../../contract/refusal.ts";
import { invalid, type Refusal } from "../../domain/words/refusal.ts";
import type { Result } from "../../domain/words/result.ts";
import { completeResponse } from "./headers.ts";

export class Refused extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.code);
    this.refusal = refusal;
  }
}

export const unwrap = <T>(result: Result<T, Refusal>): T => {
  if (!result.ok) throw new Refused(result.error);
  return result.value;
};

/** A request line or a Host header that makes no URL. */
export const malformedAddress = invalid("", "the request's address or Host is malformed");

const PROBLEM_JSON = "application/problem+json";
const CHALLENGE = 'Bearer realm="signalbox", error="invalid_token"';

/** Every 401 bears a challenge (RFC 9110, section 15.5.2). */
export const challengeOf = (status: number): Readonly<Record<string, string>> =>
  status === 401 ? { "www-authenticate": CHALLENGE } : {};

/** What it says beside its body. */
export const refusalHeaders = (refusal: Refusal): Record<string, string> => {
  const retryAfter = retryAfterOf(refusal);
  return {
    ...(retryAfter === null ? {} : { "retry-after": String(retryAfter) }),
    ...(refusal.code === "method_not_allowed" ? { allow: refusal.allow.join(", ") } : {}),
    ...(refusal.code === "range_not_satisfiable" ? { "content-range": `bytes */${refusal.bytes}` } : {}),
    // RFC 9110, section 15.5.22.
    ...(refusal.code === "upgrade_required" ? { upgrade: "websocket" } : {}),
  };
};

export const problemResponse = (refusal: Refusal, requestId: string): Response => {
  const problem = presentRefusal(refusal, requestId);
  const headers = { "content-type": PROBLEM_JSON, ...refusalHeaders(refusal), ...challengeOf(problem.status) };
  return completeResponse(JSON.stringify(problem), problem.status, requestId, headers);
};

export const INTERNAL = {
  title: "Internal error",
  status: 500,
  code: "internal",
  detail: "internal error; the log has the details under this request id",
} as const;

/** A bug: the answer says nothing about it; the log has it under the same request id. */
export const internalProblem = (requestId: string): Response => {
  const problem = {
    ...INTERNAL,
    type: "/docs#problem-internal",
    instance: requestId,
  };
  return new Response(JSON.stringify(problem), { status: INTERNAL.status, headers: { "content-type": PROBLEM_JSON } });
};
