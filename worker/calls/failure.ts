// Maps a runtime's failure to the contract's codes: one ordered table of rules, first match wins. Pure. The status
// alone does not decide: LM Studio answers 400 for a missing model, Gemini 400 for a bad key, OpenAI 429 for an empty
// account, so the body's words are checked first.

import { causesOf, isBrokenOff, isNeverReached, reasonOf } from "../../contract/text/error-causes.ts";
import { retryAfterMs } from "../../contract/text/retry-after.ts";
import { startOf } from "../../contract/text/start-of.ts";
import { inOwnWords, NO_MODEL_LOADED, saysNoSuchModel } from "../../contract/words/values.ts";
import { type ErrorBody, readErrorBody } from "./error-body.ts";
import type { JobFailure } from "./runtime.ts";

const MAX_MESSAGE_CHARS = 500;

/** A failure from the runtime: over HTTP, inside a stream (no status), or no answer (no body). */
export type RuntimeFailure = {
  status?: number;
  headers?: Readonly<Record<string, string>>;
  body?: unknown;
};

type Facts = { status: number | undefined; text: string; words: readonly string[] };

type Rule = {
  code: string;
  retryable: boolean;
  /** The beginning of the message; the runtime's own words follow. */
  lead: string;
  when: (facts: Facts) => boolean;
};

const CONTEXT_LENGTH =
  /context[_ ]?(length|window|size|limit)|maximum prompt length|prompt is too long|too many (input )?tokens|input token count.*exceed/i;
const QUOTA = inOwnWords(
  /insufficient[_ ](quota|balance|credits?|funds)|credit balance is too low|out of credits|payment required|billing_hard_limit|exceeded_current_quota/,
);
const BAD_KEY = inOwnWords(/api[_ ]key[_ ](not valid|invalid)|(incorrect|invalid|missing) api key/);

/** A 403 is also the answer to what a prompt says, which is not the key's fault. */
const CONTENT = /usage guidelines|moderation|flagged|prompt injection/i;

const isModelNotFound = ({ status, text, words }: Facts): boolean =>
  words.includes("model_not_found") || saysNoSuchModel(status, text);

const FAILED = "The runtime failed";

const RULES: readonly Rule[] = [
  {
    code: "no_model_loaded",
    retryable: false,
    lead: "No model loaded",
    when: ({ status, text }) => status !== 503 && NO_MODEL_LOADED.test(text),
  },
  { code: "model_not_found", retryable: false, lead: "Model not found", when: isModelNotFound },
  {
    code: "context_length",
    retryable: false,
    lead: "The prompt is longer than the model's context",
    when: ({ status, text, words }) =>
      words.includes("context_length_exceeded") || (isOneOf(status, 400, 413, 422) && CONTEXT_LENGTH.test(text)),
  },
  {
    code: "quota_exhausted",
    retryable: false,
    lead: "The provider account's quota or credit is used up",
    when: ({ status, text, words }) => status === 402 || QUOTA.test(text) || words.some((word) => QUOTA.test(word)),
  },
  {
    code: "overloaded",
    retryable: true,
    lead: "The model is overloaded",
    when: ({ status, words }) => isOneOf(status, 503, 529) || words.some((word) => word.startsWith("overloaded")),
  },
  {
    code: "rate_limited",
    retryable: true,
    lead: "429 Too Many Requests / Rate limit exceeded",
    when: ({ status }) => status === 429,
  },
  {
    code: "unauthorized",
    retryable: false,
    lead: "The provider refused the key",
    when: ({ status, text, words }) =>
      status === 401 ||
      (status === 403 && !CONTENT.test(text)) ||
      words.includes("api_key_invalid") ||
      (status === 400 && BAD_KEY.test(text)),
  },
  {
    code: "timeout",
    retryable: true,
    lead: "The runtime ran out of time",
    when: ({ status }) => isOneOf(status, 408, 504, 524),
  },
  {
    code: "internal",
    retryable: true,
    lead: FAILED,
    when: ({ status }) => status !== undefined && status >= 500,
  },
  {
    code: "bad_request",
    retryable: false,
    lead: "The runtime refused the request",
    when: ({ status }) => status !== undefined && status >= 400,
  },
];

/** What is no answer of the API is a bad gateway's, whatever its own status was. */
const UNKNOWN = { code: "internal", retryable: true, lead: "The runtime answered with something unreadable" };
const UNKNOWN_STATUS = 502;

export const classifyFailure = (failure: RuntimeFailure, nowMs: number): JobFailure => {
  const body = readErrorBody(failure.body ?? "");
  const told = failure.status !== undefined && failure.status >= 400 ? failure.status : body.status;
  const facts = { status: told, text: body.message, words: body.words };
  const rule = RULES.find(({ when }) => when(facts)) ?? UNKNOWN;
  const isAboutRequest = told === 403 && rule.code !== "unauthorized";
  const status = rule === UNKNOWN ? UNKNOWN_STATUS : isAboutRequest ? 400 : told;
  const retryAfter = rule.retryable ? retryAfterSeconds(failure.headers ?? {}, body, nowMs) : undefined;
  return {
    code: rule.code,
    message: withDetail(rule === UNKNOWN && body.isError ? FAILED : rule.lead, body.message),
    retryable: rule.retryable,
    ...(status === undefined ? {} : { status }),
    ...(retryAfter === undefined ? {} : { retry_after_seconds: retryAfter }),
  };
};

/** In the words of fetch. It was reached, as one that breaks off, and asked again it redirects again. */
export const REDIRECTED = "unexpected redirect";

/** Any error from fetch. Errors not caused by the runtime are `internal` and not retried. */
export const classifyThrown = (error: unknown, nowMs: number): JobFailure => {
  if (!(error instanceof Error)) return classifyFailure({ body: error }, nowMs);
  if (isBrokenOff(error)) return brokenOff(reasonOf(error));
  if (reasonOf(error) === REDIRECTED) return { ...unreachable(REDIRECTED), status: UNKNOWN_STATUS };
  if (isUnreachable(error)) return unreachable(reasonOf(error));
  const message = withDetail("The worker could not run the job", error.message);
  return { code: "internal", message, retryable: false };
};

export const unreachable = (reason: string): JobFailure => ({
  code: "runtime_unreachable",
  message: withDetail("The runtime cannot be reached", reason),
  retryable: true,
});

/** It was reached, so it has a status: a request on which a runtime breaks off twice is not tried a third time. */
export const brokenOff = (reason: string): JobFailure => ({
  code: "runtime_unreachable",
  message: withDetail("The runtime's connection broke off", reason),
  retryable: true,
  status: UNKNOWN_STATUS,
});

/** There was an answer, but not in this API's format. */
export const unreadable = (reason: string): JobFailure => ({
  code: UNKNOWN.code,
  message: withDetail(UNKNOWN.lead, reason),
  retryable: UNKNOWN.retryable,
  status: UNKNOWN_STATUS,
});

/** Seconds to wait, never less than the provider asked for. */
const retryAfterSeconds = (
  headers: Readonly<Record<string, string>>,
  body: ErrorBody,
  nowMs: number,
): number | undefined => {
  const asked = [
    retryAfterMs(headers["retry-after"], nowMs) ?? Number.NaN,
    Number(headers["retry-after-ms"]),
    Number(body.retryDelaySeconds) * 1000,
  ].find((ms) => ms >= 0);
  return asked === undefined ? undefined : Math.ceil(asked / 1000);
};

/** No answer: refused, reset, unknown host, or a stream that broke off. The reason is in the chain of causes. */
const isUnreachable = (error: unknown): boolean =>
  isNeverReached(error) ||
  causesOf(error).some(
    ({ code, message }) =>
      (code !== undefined && /^(E[A-Z]+|UND_ERR_[A-Z_]+)$/.test(code)) ||
      /fetch failed|socket hang up|other side closed|without a finish reason/i.test(message),
  );

const withDetail = (lead: string, detail: string): string => {
  const message = detail === "" ? lead : `${lead}: ${detail}`;
  return message.length > MAX_MESSAGE_CHARS ? `${startOf(message, MAX_MESSAGE_CHARS - 1)}…` : message;
};

const isOneOf = (status: number | undefined, ...statuses: number[]): boolean =>
  status !== undefined && statuses.includes(status);
