// Answers of the API: JSON with every header that a response bears.

import type { AppContext } from "./auth.ts";
import { headersFor } from "./headers.ts";

export const answer = (
  c: AppContext,
  value: unknown,
  status = 200,
  more: Readonly<Record<string, string>> = {},
): Response => {
  const headers = headersFor(c.get("requestId"), { "content-type": "application/json", ...more });
  return new Response(JSON.stringify(value), { status, headers });
};
