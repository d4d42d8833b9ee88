// An answer that is not streamed: only the job's end counts, and each state before it only for how long a failure still
// gets a status of its own (COMMITS, WAITING_COMMITS). After that the answer begins with 200 and line feeds, which JSON
// allows, so that proxies keep the connection and a lost client is noticed. A later failure breaks the connection,
// because clients take a 200 with an error in it for an answer.

import type { DoorError } from "../../../contract/front-door/dialect.ts";
import { namedAnswer } from "../../../contract/front-door/response.ts";
import { within } from "../../../contract/text/within.ts";
import type { StoredResponse } from "../../../domain/front-door/stored-response.ts";
import { clientClosed } from "../../../domain/job/job-error.ts";
import { BYTE_APIS } from "../../../domain/words/api.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import type { Followed } from "../../../durable-objects/operations/front-door/follow.ts";
import { answerBody } from "../../http/answer.ts";
import type { AppContext } from "../../http/auth.ts";
import type { TokenFacts } from "../../http/key-format.ts";
import { unwrap } from "../../http/refused.ts";
import { askTenant } from "../../tenant/tenant.ts";
import type { AskedRequest } from "../request/request.ts";
import { leaveIfAway, watchClient } from "./client-gone.ts";
import { errorResponse, failureResponse } from "./errors.ts";
import { watchEnd } from "./follow-job.ts";
import { answerHeadersOf } from "./headers.ts";
import { namingAnswer } from "./named-answer.ts";
import { openStoredAnswer } from "./stored-answer.ts";
import { writtenBody } from "./written-body.ts";

/**
 * For how many times `commit_after_seconds` the status is held back while a worker has the job, from each new lease on.
 */
const COMMITS = 3;
/**
 * The same in the queue or between two attempts: by default 45 s, longer than the queue's 30 and all back-offs, shorter
 * than the minute after which many proxies give up.
 */
const WAITING_COMMITS = 9;
const LINE_FEED_MS = 5_000;
const JSON_TYPE = "application/json";

/** `leftJob`: the job that this request waited for before, and whose first client left. */
export const answerPlain = async (
  c: AppContext,
  token: TokenFacts,
  request: AskedRequest,
  leftJob = "",
): Promise<Response> => {
  const { asking } = request;
  const startedAt = Date.now();
  const client = watchClient(c, token, asking.id);
  const asked = unwrap(await askTenant(c.env, token, asking, { until: "final", commits: COMMITS }));
  const { job } = asked;
  const headersOf = (followed: Followed): Record<string, string> =>
    answerHeadersOf(c, asking.api, asked, followed, startedAt);
  const { commitAfterMs } = asked.settings;
  let seen = { ...job, sinceAt: startedAt };
  const onMove = (moved: Followed): void => {
    seen = { ...moved, sinceAt: moved.lease === seen.lease ? seen.sinceAt : Date.now() };
  };
  const leftMs = (): number => {
    const latestAt = startedAt + commitAfterMs * WAITING_COMMITS;
    const heldUntilAt = seen.status === "pending" ? latestAt : seen.sinceAt + commitAfterMs * COMMITS;
    return Math.max(0, Math.min(heldUntilAt, latestAt) - Date.now());
  };
  const ending = isFinal(job.status) ? Promise.resolve(job) : watchEnd(c, token, job, onMove);
  let ended = await within(ending, leftMs());
  while (ended === null && leftMs() > 0) ended = await within(ending, Math.min(commitAfterMs, leftMs()));
  // Nothing may stand before sound, or before the first line of subtitles.
  if (ended === null && BYTE_APIS.has(asking.api)) ended = await ending;
  if (ended === null) {
    c.set("isWrittenOverTime", true);
    ending.catch((error) => leaveIfAway(c, token, asking, error));
    const bodyOf = (job: Followed) => bodyOfAnswer(c, token, job, asking.idempotency !== null, asked.response);
    return answerBody(c, lineFeedsThen(c, ending, bodyOf, client.stop), {
      "content-type": JSON_TYPE,
      ...headersOf(job),
    });
  }
  client.stop();
  // The job ended because the client that asked first left. This one still waits, so it asks again. If it gets the same
  // job, the error is a runtime's of that name, and is the answer.
  const isAnothers = asked.isReplayed && ended.error?.code === clientClosed.code && asking.input !== null;
  if (isAnothers && job.id !== leftJob && !client.signal.aborted) return answerPlain(c, token, request, job.id);
  if (ended.status !== "completed") return failureResponse(c, asking.api, ended, headersOf(ended));
  const answer = await bodyOfAnswer(c, token, ended, asking.idempotency !== null, asked.response);
  if (answer === null || (asked.isReplayed && answer.body === "null"))
    return errorResponse(c, asking.api, notKept(ended.id), headersOf(ended));
  return answerBody(c, answer.body, { "content-type": answer.contentType, ...headersOf(ended) });
};

interface Answer {
  readonly contentType: string;
  readonly body: string | ReadableStream<Uint8Array>;
}

/** null: it was stored, and is no longer there. */
const bodyOfAnswer = async (
  c: AppContext,
  token: TokenFacts,
  { result, answerFile }: Followed,
  isKept: boolean,
  response: StoredResponse | null,
): Promise<Answer | null> => {
  if (answerFile === null) {
    const named = response === null || result === null ? result : namedAnswer(result, response);
    return { contentType: JSON_TYPE, body: JSON.stringify(named) };
  }
  const answer = await openStoredAnswer(c, token, answerFile, isKept || response !== null);
  if (answer === null || response === null) return answer;
  return { ...answer, body: answer.body.pipeThrough(namingAnswer(response)) };
};

/** `front_door.store: none` keeps nothing that could be returned again. */
const notKept = (id: string): DoorError => ({
  code: "not_found",
  message: `the answer of job "${id}" was not kept (front_door.store): send the request with a new Idempotency-Key`,
  status: 404,
});

const lineFeedsThen = (
  c: AppContext,
  ending: Promise<Followed>,
  bodyOf: (job: Followed) => Promise<Answer | null>,
  stop: () => void,
): ReadableStream => {
  const body = writtenBody();
  const endLineFeeds = body.writeEvery(LINE_FEED_MS, "\n");
  const finish = async (): Promise<void> => {
    const ended = await ending;
    if (ended.status !== "completed") throw new Error("the job failed");
    const answer = await bodyOf(ended);
    if (answer === null) throw new Error("the answer is gone");
    if (typeof answer.body === "string") await body.write(answer.body);
    else await body.pipe(answer.body, { preventClose: true });
    stop();
    await body.close();
  };
  void body.write("\n").catch(() => undefined);
  const done = finish()
    .catch((error) => body.abort(error).catch(() => undefined))
    .finally(endLineFeeds);
  c.executionCtx.waitUntil(done);
  return body.readable;
};
