// A refusal or a failed job in the error format of the client's API, which the path identifies.

import { type DoorError, errorBody, isAnthropic } from "../../../contract/front-door/dialect.ts";
import { doorErrorOf, shouldRetry } from "../../../contract/front-door/door-status.ts";
import { presentRefusal } from "../../../contract/refusal.ts";
import { TOO_MANY_REQUESTS } from "../../../contract/words/http-status.ts";
import type { Left } from "../../../domain/access/key-limits.ts";
import type { Api } from "../../../domain/words/api.ts";
import type { Refusal, RefusalCode } from "../../../domain/words/refusal.ts";
import type { Followed } from "../../../durable-objects/operations/front-door/follow.ts";
import type { AppContext } from "../../http/auth.ts";
import { headersFor } from "../../http/headers.ts";
import { challengeOf, INTERNAL, refusalHeaders } from "../../http/refused.ts";
import { leftHeaders } from "./headers.ts";

const BASE = "/v1/";

export const isFrontDoor = (path: string): boolean => path.startsWith(BASE) || path === "/v1";

/** Only Anthropic's format differs from the others. */
const dialectOf = (path: string): Api | null => (path.startsWith(`${BASE}messages`) ? "messages" : null);

const CODES: Partial<Record<RefusalCode, string>> = {
  authentication_failed: "invalid_api_key",
  key_revoked: "invalid_api_key",
  key_rotated: "invalid_api_key",
  key_suspended: "invalid_api_key",
};

const paramOf = (refusal: Refusal): string | null => {
  if (refusal.code === "unsupported_parameter") return refusal.parameter;
  if (refusal.code === "model_not_found") return "model";
  return refusal.code === "invalid_request" ? refusal.errors[0]?.path || null : null;
};

export const errorOfRefusal = (refusal: Refusal): DoorError => {
  const { status, detail } = presentRefusal(refusal, "");
  return { code: CODES[refusal.code] ?? refusal.code, message: detail, status, param: paramOf(refusal) };
};

const NOBODY_THERE_SECONDS = 5;

/** In seconds, if nothing better is known. */
const retryAfterOfError = ({ code, status }: DoorError): number | undefined => {
  if (code === "no_eligible_workers") return NOBODY_THERE_SECONDS;
  return status === TOO_MANY_REQUESTS ? 1 : undefined;
};

export const errorResponse = (
  c: AppContext,
  api: Api | null,
  error: DoorError,
  more: Readonly<Record<string, string>> = {},
  hasFirstToken = false,
): Response => {
  const requestId = c.get("requestId");
  const again = shouldRetry(error.code, hasFirstToken);
  const retryAfter = again === false ? undefined : retryAfterOfError(error);
  const headers = headersFor(requestId, {
    "content-type": "application/json",
    ...(isAnthropic(api) ? { "request-id": requestId } : {}),
    ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }),
    ...(again === null ? {} : { "x-should-retry": String(again) }),
    ...challengeOf(error.status),
    ...more,
  });
  return new Response(JSON.stringify(errorBody(api, error, requestId)), { status: error.status, headers });
};

export const refusalResponse = (c: AppContext, refusal: Refusal): Response => {
  const more = refusalHeaders(refusal);
  if (refusal.code === "rate_limit_exceeded") {
    const { requestsPerMinute, tokensPerMinute } = refusal;
    const none = (limit: number | null): Left | null =>
      limit === null ? null : { limit, remaining: 0, resetMs: refusal.retryAfterSeconds * 1000 };
    Object.assign(more, leftHeaders("requests", none(requestsPerMinute)), leftHeaders("tokens", none(tokensPerMinute)));
  }
  return errorResponse(c, dialectOf(c.req.path), errorOfRefusal(refusal), more);
};

export const bugResponse = (c: AppContext): Response => {
  const { code, detail: message, status } = INTERNAL;
  return errorResponse(c, dialectOf(c.req.path), { code, message, status });
};

/** A job that ended without an answer. */
export const failureResponse = (
  c: AppContext,
  api: Api,
  job: Followed,
  more: Readonly<Record<string, string>>,
): Response => {
  const asked = job.retryAfterMs === null ? {} : { "retry-after": String(Math.ceil(job.retryAfterMs / 1000)) };
  return errorResponse(c, api, doorErrorOf(job.error), { ...asked, ...more }, job.hasFirstToken);
};
