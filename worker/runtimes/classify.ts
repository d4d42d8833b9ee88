// The failures that the AI SDK throws, as those that a runtime tells itself (`failure.ts`).

import { APICallError, InvalidResponseDataError, JSONParseError, StreamProviderError, TypeValidationError } from "ai";
import { isBrokenOff, reasonOf } from "../../contract/text/error-causes.ts";
import { readErrorBody } from "../calls/error-body.ts";
import {
  brokenOff,
  classifyFailure,
  classifyThrown,
  type RuntimeFailure,
  unreachable,
  unreadable,
} from "../calls/failure.ts";
import { requestFailure } from "../calls/request-failure.ts";
import type { JobFailure } from "../calls/runtime.ts";

/**
 * Any error from fetch or the AI SDK, thrown or in a stream. Errors not caused by the runtime are `internal` and not
 * retried.
 */
export const classifyError = (error: unknown, nowMs: number): JobFailure => {
  const told = failureOf(error);
  if (told !== null) return classifyFailure(told, nowMs);
  // The SDK says of it that it could not connect, or not read the answer.
  if (isBrokenOff(error)) return brokenOff(reasonOf(error));
  if (APICallError.isInstance(error) && error.statusCode === undefined) return unreachable(reasonOf(error));
  return isUnreadable(error) ? unreadable(reasonOf(error)) : classifyThrown(error, nowMs);
};

/** The same in the words that a client of the runtime's API knows. */
export const requestFailureOf = (runtime: string, error: unknown, nowMs: number): JobFailure => {
  const told = failureOf(error);
  return told === null ? classifyError(error, nowMs) : requestFailure(runtime, told, nowMs);
};

/** What the runtime itself said, or null if it said nothing. */
const failureOf = (error: unknown): RuntimeFailure | null => {
  if (APICallError.isInstance(error) && (error.statusCode ?? 0) >= 400) {
    const { statusCode = 500, responseHeaders = {}, responseBody, data, message } = error;
    return { status: statusCode, headers: responseHeaders, body: responseBody || data || message };
  }
  if (StreamProviderError.isInstance(error)) return streamFailure(error);
  if (TypeValidationError.isInstance(error) && isErrorChunk(error.value)) return { body: error.value };
  return error instanceof Error ? null : { body: error };
};

/** The status of the provider's own words takes precedence over the one that the SDK infers. */
const streamFailure = ({ data, message, statusCode }: StreamProviderError): RuntimeFailure => {
  const body = data ?? message;
  const isInferred = readErrorBody(body).status === undefined && statusCode !== undefined;
  return { body, ...(isInferred ? { status: statusCode } : {}) };
};

/** There was an answer, but not in this API's format: a proxy's page, or half an event. */
const isUnreadable = (error: unknown): boolean => {
  const kinds = [APICallError, InvalidResponseDataError, JSONParseError, TypeValidationError];
  return kinds.some((kind) => kind.isInstance(error)) || FIRST_UNREAD.test(reasonOf(error));
};

/** The SDK's words where the first event of a stream cannot be read. */
const FIRST_UNREAD = /^Expected a normalized/;

/** An error inside a stream in a format that the AI SDK does not know. */
const isErrorChunk = (value: unknown): boolean => typeof value === "object" && value !== null && "error" in value;
