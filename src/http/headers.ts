// Headers that every response has: the request id, and restrictions for browsers. An API answer is created with all of
// them, because setting them one by one afterwards takes a fifth of a call.

import { SWITCHING_PROTOCOLS } from "../../contract/words/http-status.ts";
import { LONG_TEXT_CHARS } from "../../domain/words/size.ts";

const SECURITY = {
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
  "strict-transport-security": "max-age=31536000",
};

/** An answer of the API is data: if a browser shows it, nothing in it runs and nobody frames it. */
const ANSWER = {
  ...SECURITY,
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cache-control": "no-store",
};

/** Everything else may be a page: the dashboard's files, the documentation. */
const PAGE = {
  ...SECURITY,
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
};

const REQUEST_ID = "x-request-id";

export const headersFor = (requestId: string, more: Readonly<Record<string, string>>): Record<string, string> => ({
  ...ANSWER,
  ...more,
  [REQUEST_ID]: requestId,
});

/**
 * Marks a response that was created with all its headers. Looking at the headers would make Node build a full `Headers`
 * object.
 */
const IS_COMPLETE = Symbol("has all its headers");

/** A text goes to the connection in one piece with its head, which would copy a long one. */
const bodyOf = (text: string): BodyInit => (text.length > LONG_TEXT_CHARS ? new TextEncoder().encode(text) : text);

/** A text response with the headers that every response has. */
export const completeResponse = (
  text: string,
  status: number,
  requestId: string,
  more: Readonly<Record<string, string>>,
): Response => {
  const response: Response & { [IS_COMPLETE]?: true } = new Response(bodyOf(text), {
    status,
    headers: headersFor(requestId, more),
  });
  response[IS_COMPLETE] = true;
  return response;
};

const upgraded = ({ webSocket }: Response, requestId: string): Response =>
  new Response(null, { status: SWITCHING_PROTOCOLS, webSocket, headers: { [REQUEST_ID]: requestId } });

/** It is a text, and no stream. */
export const isComplete = (response: Response): boolean => IS_COMPLETE in response;

/** Adds the headers if they are missing; an upgraded socket gets only the request id. */
export const secured = (response: Response, requestId: string): Response => {
  if (isComplete(response)) return response;
  if (response.status === SWITCHING_PROTOCOLS) return upgraded(response, requestId);
  const { headers } = response;
  if (headers.has(REQUEST_ID)) return response;
  for (const [name, value] of Object.entries(PAGE)) headers.set(name, value);
  headers.set(REQUEST_ID, requestId);
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  return response;
};
