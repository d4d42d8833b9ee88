// A request is under way until its answer has ended, streams included: only then is its share given back.

import type { AppContext } from "./auth.ts";
import { NO_SHARE, type Share } from "./shares.ts";

/** How often a stream on Cloudflare shows that it is still there; far below the silence after which it counts as lost. */
const RENEW_EVERY_MS = 30_000;

/** The answer, whose end gives the share back: all of it was sent, its client left, or it broke. */
export const releaseAfter = (c: AppContext, answer: Response, share: Share): Response => {
  const { HOME: home } = c.env;
  if (share === NO_SHARE) return answer;
  if (home !== undefined) {
    share.renew(Number.POSITIVE_INFINITY);
    home.onAnswerEnd(c, share.release);
    return answer;
  }
  const isEvents = answer.headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (answer.body === null || !(isEvents || c.get("isWrittenOverTime") === true)) {
    share.release();
    return answer;
  }
  return new Response(watched(c, answer.body, share), answer);
};

/** The pump ends when either side does. An `IdentityTransformStream` would hang: other requests write the events. */
const watched = (c: AppContext, body: ReadableStream, share: Share): ReadableStream => {
  const { readable, writable } = new TransformStream();
  const renewing = setInterval(() => share.renew(Date.now()), RENEW_EVERY_MS);
  const ended = body.pipeTo(writable).catch(() => undefined);
  c.executionCtx.waitUntil(
    ended.finally(() => {
      clearInterval(renewing);
      share.release();
    }),
  );
  return readable;
};
