// A streamed answer, to the client that asked for it. The edge owns the client's response: it holds the status back until
// the first event (`begin-stream.ts`), then pipes that one attempt, which is never repeated. From there the relay ends the
// stream, as complete or with an error; a stream never ends without either. Who reads a job besides: `second-reader.ts`.

import { type DoorError, errorEvent, openingOf, saysItsEnd } from "../../../contract/front-door/dialect.ts";
import { doorErrorOf } from "../../../contract/front-door/door-status.ts";
import { soundOf } from "../../../contract/front-door/speech.ts";
import { isObject } from "../../../contract/text/json-object.ts";
import type { LastWords } from "../../../contract/text/whole-events.ts";
import { within } from "../../../contract/text/within.ts";
import { OK } from "../../../contract/words/http-status.ts";
import { keyEnded, slowReader, streamLost } from "../../../domain/job/job-error.ts";
import type { DoorAnswer } from "../../../durable-objects/operations/front-door/ask.ts";
import type { Followed } from "../../../durable-objects/operations/front-door/follow.ts";
import { KEEP_ALIVE } from "../../../durable-objects/relay/stream-reader.ts";
import { answer, answerBody } from "../../http/answer.ts";
import type { AppContext } from "../../http/auth.ts";
import type { TokenFacts } from "../../http/key-format.ts";
import { Refused, unwrap } from "../../http/refused.ts";
import { readRelay } from "../../tenant/relay.ts";
import { askTenant } from "../../tenant/tenant.ts";
import type { AskedRequest } from "../request/request.ts";
import { type Beginning, type Begun, beginStream } from "./begin-stream.ts";
import { abandon, watchClient } from "./client-gone.ts";
import { errorOfRefusal, errorResponse, failureResponse } from "./errors.ts";
import { watchMove } from "./follow-job.ts";
import { eventsOfResult } from "./from-result.ts";
import { answerHeadersOf, STREAM_HEADERS } from "./headers.ts";
import { breakOff, endWith, withLastWords } from "./last-words.ts";
import { namedEvents, namingEvents } from "./named-answer.ts";
import { openStoredAnswer, type StoredAnswer } from "./stored-answer.ts";
import { writtenBody } from "./written-body.ts";

/** Time that a stream may arrive after its job's report. */
const LATE_STREAM_MS = 5_000;

/** A relay that ends a stream sends the reason itself. */
const RELAY_TELLS_FIRST_MS = 500;

/** Ends an event that may have come in part. */
const BREAK_OFF = "\n\n";

/** A request that its tenant has taken. */
interface Taken {
  readonly c: AppContext;
  readonly token: TokenFacts;
  readonly request: AskedRequest;
  readonly asked: DoorAnswer;
}

/**
 * The end of an answer whose relay was lost. The client gets an error, so the job ends, too. `last`: the last text that
 * the client got.
 */
const endingIfLost =
  ({ c, token, request, asked }: Taken): LastWords =>
  (last, isSlow = false) => {
    // The client has all of it: its job is its worker's to report.
    if (saysItsEnd(request.asking.api, last)) return "";
    const { id } = asked.job;
    const tell = scheduler.wait(RELAY_TELLS_FIRST_MS).then(() => abandon(c, token, id, "lost"));
    c.executionCtx.waitUntil(tell.catch(() => undefined));
    const said = { jobId: id, opening: openingOf(last), last };
    return BREAK_OFF + errorEvent(request.asking.api, doorErrorOf(isSlow ? slowReader : streamLost), said);
  };

export const answerStream = async (c: AppContext, token: TokenFacts, request: AskedRequest): Promise<Response> => {
  const startedAt = Date.now();
  const { asking } = request;
  const client = watchClient(c, token, asking.id);
  const asked = unwrap(await askTenant(c.env, token, asking, { until: "assigned", commits: 1 }));
  const taken = { c, token, request, asked };
  const { commitAfterMs } = asked.settings;
  const headersOf = (job: Followed): Record<string, string> => ({
    ...answerHeadersOf(c, asking.api, asked, job, startedAt),
    ...STREAM_HEADERS,
  });
  const begun = begin(taken).then((first) => {
    // From now on the relay tells that the client has left, because it knows whether that was with the last event.
    if (first.kind === "events" && !request.isSound) client.stop();
    return first;
  });
  const heldMs = Math.max(0, startedAt + commitAfterMs - Date.now());
  // Nothing may stand before sound.
  const first = await (request.isSound ? begun : within(begun, heldMs));
  if (first === null) return answerBody(c, committed(taken, begun, endingIfLost(taken)), headersOf(asked.job));
  const { job } = first;
  const plainHeaders = answerHeadersOf(c, asking.api, asked, job, startedAt);
  if (first.kind === "final") {
    client.stop();
    return answerOfEnd(taken, job, plainHeaders);
  }
  if (!request.isSound) return answerBody(c, namedBody(taken, first), headersOf(job));
  const sound = await asBytes(first.body, client.stop);
  if (sound === null) return errorResponse(c, asking.api, doorErrorOf(streamLost), plainHeaders);
  c.set("isWrittenOverTime", true);
  return answerBody(c, sound.body, { ...plainHeaders, ...STREAM_HEADERS, "content-type": sound.contentType });
};

/** Its job has ended without events. */
const answerOfEnd = async (taken: Taken, job: Followed, headers: Record<string, string>): Promise<Response> => {
  const { c, token, request } = taken;
  const { api } = request.asking;
  if (job.status !== "completed") return failureResponse(c, api, job, headers);
  const stored = job.answerFile === null ? null : await openStoredAnswer(c, token, job.answerFile, false);
  if (stored !== null) return answerBody(c, stored.body, { ...headers, "content-type": stored.contentType });
  if (isLost(job)) return errorResponse(c, api, doorErrorOf(streamLost), headers);
  if (request.isSound) return answer(c, job.result, 200, headers);
  return answerBody(c, eventsOf(taken, job), { ...headers, ...STREAM_HEADERS });
};

/**
 * The bytes of sound that comes as events; null if the first event is not sound. If it breaks off, so does the
 * connection, because bytes cannot carry an error. `stop` is called after the last event.
 */
const asBytes = async (events: ReadableStream<Uint8Array>, stop: () => void): Promise<StoredAnswer | null> => {
  const sound = soundOf(events);
  const first = await sound.next().catch(() => null);
  if (first === null) return null;
  const { contentType, bytes } = first.value ?? SILENCE;
  const body = new ReadableStream<Uint8Array>({
    start: (to) => to.enqueue(bytes),
    pull: async (to) => {
      const next = await sound.next();
      if (!next.done) return to.enqueue(next.value.bytes);
      stop();
      to.close();
    },
    cancel: async () => void (await sound.return()),
  });
  return { contentType: contentType ?? OCTETS, body };
};
const OCTETS = "application/octet-stream";
const SILENCE = { contentType: null, bytes: new Uint8Array() };

/** The events of a complete answer. */
const eventsOf = ({ request, asked }: Taken, { result }: Followed): string => {
  const events = eventsOfResult(request.asking.api, result, request.wantsUsage);
  return asked.response === null ? events : namedEvents(events, asked.response);
};

/** It had more than a job keeps, and its events are gone; or its worker reported what is no answer: nothing, or text. */
const isLost = ({ result }: Followed): boolean => !isObject(result);

const begin = (taken: Taken): Promise<Beginning> =>
  beginStream(taken.asked.job, {
    watch: (job) => watchMove(taken.c, taken.token, job),
    attach: (job) => attach(taken, job),
    lateMs: LATE_STREAM_MS,
  });

/** The events of one attempt from the first one on; null if it ended without any, and the tenant knows why. */
const attach = async (taken: Taken, job: Followed): Promise<ReadableStream<Uint8Array> | null> => {
  const { c, token, request, asked } = taken;
  const wishes = {
    api: request.asking.api,
    isNumbered: false,
    stripsUsage: !request.wantsUsage,
    keepAliveMs: asked.settings.keepAliveMs,
    after: 0,
  };
  const attempt = { jobId: job.id, lease: job.lease, holder: null, wishes };
  const ifLost = endingIfLost(taken);
  const reading = readRelay(c.env, token, job.worker ?? "", attempt, ifLost);
  const answered = await reading.catch(() => null);
  if (answered?.status !== OK || answered.body === null) return null;
  // Deployed, each new version ends the relay. Self-hosted, the relay's line says the same by itself.
  return c.env.HOME === undefined ? withLastWords(answered.body, ifLost) : answered.body;
};

const namedBody = ({ asked }: Taken, { body, over }: Begun): ReadableStream<Uint8Array> =>
  asked.response === null ? body : body.pipeThrough(namingEvents(asked.response, over.then(errorOfEnd, keyError)));

const errorOfEnd = ({ status, error }: Followed): DoorError | null =>
  status === "cancelled" ? doorErrorOf(error) : null;

/** Whose key has ended may not ask how its job ended: it is cancelled. */
const keyError = (thrown: unknown): DoorError | null => {
  const error = thrown instanceof Refused ? errorOfRefusal(thrown.refusal) : null;
  return error?.code === keyEnded.code ? error : null;
};

/** The status has been sent: silence is filled with comments, and failures become error events in the stream. */
export const committed = (taken: Taken, begun: Promise<Beginning>, ifLost: LastWords): ReadableStream<Uint8Array> => {
  const { c, request } = taken;
  const { settings, job } = taken.asked;
  const body = writtenBody();
  const endComments = body.writeEvery(settings.keepAliveMs, KEEP_ALIVE);
  const failed = (error: DoorError): string => {
    const { api, model } = request.asking;
    return errorEvent(api, error, { jobId: job.id, opening: "", last: "", model });
  };
  const relay = async (): Promise<void> => {
    void body.write(KEEP_ALIVE).catch(() => undefined);
    const first = await begun.finally(endComments);
    // These events have last words of their own. If the pipe fails, the client has left, and the relay tells that.
    if (first.kind === "events") return body.pipe(namedBody(taken, first), {}).catch(() => undefined);
    const { status } = first.job;
    const isWhole = status === "completed" && !isLost(first.job);
    const error = status === "completed" ? streamLost : first.job.error;
    await endWith(body, isWhole ? eventsOf(taken, first.job) : failed(doorErrorOf(error)));
  };
  const lastWords = (thrown: unknown): string => {
    const error = keyError(thrown);
    return error === null ? ifLost("") : failed(error);
  };
  c.executionCtx.waitUntil(relay().catch((thrown) => breakOff(body, lastWords(thrown))));
  return body.readable;
};
