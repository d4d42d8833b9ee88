// Answers of the API, with the headers that every response has.

import { Written } from "../../durable-objects/calls/grouped-calls.ts";
import type { AppContext } from "./auth.ts";
import { completeResponse, headersFor } from "./headers.ts";

export const answer = (
  c: AppContext,
  value: unknown,
  status = 200,
  more: Readonly<Record<string, string>> = {},
): Response =>
  completeResponse(value instanceof Written ? value.text : JSON.stringify(value), status, c.get("requestId"), {
    "content-type": "application/json",
    ...more,
  });

/** Of a body that is written already; `more` has its content type. */
export const answerBody = (c: AppContext, body: BodyInit, more: Readonly<Record<string, string>>): Response =>
  new Response(body, { headers: headersFor(c.get("requestId"), more) });
