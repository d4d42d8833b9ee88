// Headers of the front door's answers: which job and worker it was, and where the key stands.

import type { Api } from "../../domain/api.ts";
import type { Asked, Followed } from "../../durable-objects/operations/front-door.ts";
import type { AppContext } from "../http/auth.ts";

export const answerHeadersOf = (
  c: AppContext,
  api: Api,
  asked: Asked,
  job: Followed,
  startedAt: number,
): Record<string, string> => {
  const { limits, isReplayed } = asked;
  return {
    ...(api === "messages" ? { "request-id": c.get("requestId") } : {}),
    "x-signalbox-job": job.id,
    ...(job.worker === null ? {} : { "x-signalbox-worker": job.worker }),
    ...(job.isSessionHit === null ? {} : { "x-signalbox-session": job.isSessionHit ? "hit" : "miss" }),
    ...(isReplayed ? { "idempotency-replayed": "true" } : {}),
    "openai-processing-ms": String(Date.now() - startedAt),
    ...(limits === null
      ? {}
      : {
          "x-ratelimit-limit-requests": String(limits.limit),
          "x-ratelimit-remaining-requests": String(limits.remaining),
          "x-ratelimit-reset-requests": `${Math.ceil(limits.resetMs / 1000)}s`,
        }),
    ...corsHeadersOf(c, asked.settings.corsOrigins),
  };
};

const EXPOSED = "*";

/** What a page of an allowed origin needs to read the answer. */
export const corsHeadersOf = (c: AppContext, allowed: readonly string[]): Record<string, string> => {
  const origin = c.req.header("origin");
  if (origin === undefined || !(allowed.includes("*") || allowed.includes(origin))) return {};
  return { "access-control-allow-origin": origin, "access-control-expose-headers": EXPOSED, vary: "origin" };
};

/**
 * A preflight bears no key, so nobody knows whose rules hold; it says what a request may have, and nothing of anybody.
 * Whether a page may read the answer the answer itself says.
 */
export const preflight = (c: AppContext): Response =>
  new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-origin": c.req.header("origin") ?? "*",
      "access-control-allow-methods": "GET, POST",
      "access-control-allow-headers": c.req.header("access-control-request-headers") ?? "authorization, content-type",
      "access-control-max-age": "600",
      vary: "origin, access-control-request-headers",
    },
  });

export const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
} as const;
