// The formats of the APIs that the front door offers: how each writes an error, in an answer and in a stream, and how
// each marks the end of a stream.

import type { Api } from "../../domain/words/api.ts";
import { timeOfId } from "../../domain/words/time-of-id.ts";

export interface DoorError {
  readonly code: string;
  readonly message: string;
  /** Status of the answer, if the answer has not begun yet. */
  readonly status: number;
  readonly param?: string | null;
}

interface ErrorType {
  readonly openai: string;
  readonly anthropic: string;
}

const SERVER: ErrorType = { openai: "server_error", anthropic: "api_error" };
const INVALID: ErrorType = { openai: "invalid_request_error", anthropic: "invalid_request_error" };

const TYPES: Readonly<Record<number, ErrorType>> = {
  401: { openai: "authentication_error", anthropic: "authentication_error" },
  403: { openai: "permission_error", anthropic: "permission_error" },
  404: { openai: "not_found_error", anthropic: "not_found_error" },
  413: { openai: "invalid_request_error", anthropic: "request_too_large" },
  429: { openai: "rate_limit_error", anthropic: "rate_limit_error" },
  499: SERVER,
  503: { openai: "server_error", anthropic: "overloaded_error" },
};

const FIRST_SERVER_STATUS = 500;

const typeOf = (status: number): ErrorType => TYPES[status] ?? (status >= FIRST_SERVER_STATUS ? SERVER : INVALID);

export const isAnthropic = (api: Api | null): boolean => api === "messages" || api === "messages/count_tokens";

const inFormat = (api: Api | null, { status, message, code, param = null }: DoorError): object => {
  const { openai, anthropic } = typeOf(status);
  return isAnthropic(api)
    ? { type: "error", error: { type: anthropic, message } }
    : { error: { message, type: openai, param, code } };
};

/** The body of an error answer. */
export const errorBody = (api: Api | null, error: DoorError, requestId: string): object =>
  isAnthropic(api) ? { ...inFormat(api, error), request_id: requestId } : inFormat(api, error);

/** What a stream said before it broke off, as far as its last event must fit to it. */
export interface SaidBefore {
  readonly jobId: string;
  /** The start of it, and the end; either may be empty. */
  readonly opening: string;
  readonly last: string;
  /** What was asked for, if that is known. */
  readonly model?: string;
}

const OPENING_CHARS = 4_096;
const RESPONSE_ID = /"response": ?\{[^{}]*?"id": ?"([A-Za-z0-9._:-]{1,128})"/;
const SEQUENCE_NUMBER = /"sequence_number": ?(\d{1,15})/g;

/** The part of a stream's first events that names the answer. */
export const openingOf = (events: string): string => events.slice(0, OPENING_CHARS);

/** The last event number in a stream, as it is written there. */
export const lastNumberIn = (events: string): string | null => events.match(SEQUENCE_NUMBER)?.at(-1) ?? null;

const nextNumberAfter = (events: string): number => {
  let next = 0;
  for (const [, number] of events.matchAll(SEQUENCE_NUMBER)) next = Math.max(next, Number(number) + 1);
  return next;
};

/**
 * Responses clients know no other event for a failure. Their helpers read it only after `response.created`, and go over
 * its output. The AI SDK accepts no `response.created` without the response's time and model.
 */
const failedResponse = ({ code, message }: DoorError, { jobId, opening, last, model = "" }: SaidBefore): string => {
  const id = RESPONSE_ID.exec(opening)?.[1] ?? `resp_${jobId}`;
  const event = (name: "created" | "failed", number: number, more: object): string => {
    const type = `response.${name}`;
    const response = { id, object: "response", ...more, output: [] };
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, response })}\n\n`;
  };
  const before = last === "" ? opening : last;
  const begun = { status: "in_progress", created_at: Math.floor(timeOfId(jobId) / 1000), model, error: null };
  const first = before === "" ? event("created", 0, begun) : "";
  return first + event("failed", nextNumberAfter(first + before), { status: "failed", error: { code, message } });
};

/** The last event of a stream that broke off. */
export const errorEvent = (api: Api | null, error: DoorError, said: SaidBefore): string => {
  if (api === "responses") return failedResponse(error, said);
  return `${isAnthropic(api) ? "event: error\n" : ""}data: ${JSON.stringify(inFormat(api, error))}\n\n`;
};

const ENDS: Readonly<Record<Api, RegExp>> = {
  "chat/completions": /^data: ?(\[DONE\]|\{"error")/m,
  completions: /^data: ?(\[DONE\]|\{"error")/m,
  embeddings: /^data: ?\[DONE\]/m,
  "messages/count_tokens": /^event: ?error\s*$/m,
  rerank: /^data: ?\[DONE\]/m,
  "images/generations": /"type": ?"image_generation\.completed"|^data: ?(\[DONE\]|\{"error")/m,
  "images/edits": /"type": ?"image_edit\.completed"|^data: ?(\[DONE\]|\{"error")/m,
  "audio/transcriptions": /"type": ?"transcript\.text\.done"|^data: ?(\[DONE\]|\{"error")/m,
  "audio/translations": /"type": ?"transcript\.text\.done"|^data: ?(\[DONE\]|\{"error")/m,
  "audio/speech": /"type": ?"speech\.audio\.done"|^data: ?(\[DONE\]|\{"error")/m,
  messages: /^event: ?(message_stop|error)\s*$|"type": ?"message_stop"/m,
  responses: /"type": ?"response\.(completed|failed|incomplete)"/,
};

/**
 * Whether the last events of a stream mark its end. Without that mark, two of four clients take a truncated answer for
 * a complete one.
 */
export const saysItsEnd = (api: Api, lastEvents: string): boolean => ENDS[api].test(lastEvents);

/** The event that carries only usage; it is removed if the client did not ask for it. */
export const isUsageOnly = (event: string): boolean => event.includes('"usage"') && /"choices": ?\[\s*\]/.test(event);
