// Headers of the front door's answers: job, worker, and the key's remaining limits.

import { isAnthropic } from "../../../contract/front-door/dialect.ts";
import type { Left } from "../../../domain/access/key-limits.ts";
import type { Api } from "../../../domain/words/api.ts";
import type { DoorAnswer } from "../../../durable-objects/operations/front-door/ask.ts";
import type { Followed } from "../../../durable-objects/operations/front-door/follow.ts";
import type { AppContext } from "../../http/auth.ts";
import { replayHeader } from "../../http/idempotency.ts";

/** HTTP carries visible ASCII alone: a name's other characters, and `%`, are percent-encoded. */
const headerText = (name: string): string => name.replace(/[^\x20-\x24\x26-\x7e]+/gu, encodeURIComponent);

export const answerHeadersOf = (
  c: AppContext,
  api: Api,
  asked: DoorAnswer,
  job: Followed,
  startedAt: number,
): Record<string, string> => {
  const { limits, isReplayed } = asked;
  return {
    ...(isAnthropic(api) ? { "request-id": c.get("requestId") } : {}),
    "x-signalbox-job": job.id,
    ...(job.worker === null ? {} : { "x-signalbox-worker": job.worker }),
    ...(job.provider === null ? {} : { "x-signalbox-provider": headerText(job.provider) }),
    ...(job.provider === null || job.model === null ? {} : { "x-signalbox-model": headerText(job.model) }),
    ...(job.isFallback ? { "x-signalbox-fallback": "true" } : {}),
    ...(job.isSessionHit === null ? {} : { "x-signalbox-session": job.isSessionHit ? "hit" : "miss" }),
    ...replayHeader({ replayed: isReplayed }),
    "openai-processing-ms": String(Date.now() - startedAt),
    ...leftHeaders("requests", limits?.requests ?? null),
    ...leftHeaders("tokens", limits?.tokens ?? null),
  };
};

/** The state of a key's limit a minute. */
export const leftHeaders = (what: "requests" | "tokens", left: Left | null): Record<string, string> =>
  left === null
    ? {}
    : {
        [`x-ratelimit-limit-${what}`]: String(left.limit),
        [`x-ratelimit-remaining-${what}`]: String(left.remaining),
        [`x-ratelimit-reset-${what}`]: `${Math.ceil(left.resetMs / 1000)}s`,
      };

export const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
} as const;
