// One request to a runtime, in the format of its API, and its answer, whole or as events that are passed on at once.
// Reading stops when the answer is larger than the limit; no large answer is held whole.

import { parseJson } from "../../contract/text/json-object.ts";
import { within } from "../../contract/text/within.ts";
import { inputTokensOf } from "../../contract/words/token-estimate.ts";
import { MAX_LARGE_RESULT_BYTES } from "../../contract/words/values.ts";
import type { Assembly, Dialect } from "../apis/dialect.ts";
import { spentOnAnswer, spentSoFar } from "../apis/spent.ts";
import { EventSplitter, EventTooLarge } from "../apis/sse.ts";
import type { Spent } from "../apis/usage.ts";
import { startOfBody } from "./error-body.ts";
import type { FormBody } from "./form-body.ts";
import { failed, failedBy, type JobFailure, type Outcome, type RunOptions, type RuntimeAnswer } from "./runtime.ts";
import { eventTooLarge, StreamReader } from "./stream-reader.ts";
import { NotKept, readWhole } from "./whole-answer.ts";

const AFTER_END_MS = 500;

/** How a runtime is reached. */
export type Way = {
  fetch: (url: string, init: RequestInit) => Promise<RuntimeAnswer>;
  /** The failure for what the fetch, or the reading of its answer, throws. */
  classify: (error: unknown) => JobFailure;
  /** A form as a body that is sent while it is read. */
  streamOf: (form: FormBody) => unknown;
  /** What is generated costs money: an answer without counts has them estimated. */
  isMetered?: true;
  /** More is not held of an answer in events; by default as much as may be kept of any job. */
  maxResultBytes?: number;
  /** The same of one event. */
  maxEventBytes?: number;
};

export type Exchange = {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string | FormBody;
  dialect: Dialect;
  way: Way;
  /** The failure for a refusal or an error in the stream, worded for the caller. */
  explain: (failure: { status?: number; headers?: Record<string, string>; body?: unknown }) => JobFailure;
};

export const exchange = async (
  request: Exchange,
  run: Pick<RunOptions, "signal" | "emit" | "traceparent" | "isPassedOn" | "isRead" | "store">,
): Promise<Outcome> => {
  // Also ends the reading if the answer is refused halfway.
  const done = new AbortController();
  const signal = AbortSignal.any([run.signal, done.signal]);
  const { url, body, headers } = request;
  let assembly: Assembly | null = null;
  /** Whole: it was written before it came. */
  let isWritten = false;
  try {
    const sent = sentAs(body, request.way);
    const response = await request.way.fetch(url, {
      method: "POST",
      ...sent,
      headers: { ...sent.headers, ...traceOf(run), ...headers },
      signal,
    } as RequestInit);
    if (!response.ok) {
      const text = await startOfBody(response);
      return failed(
        request.explain({ status: response.status, headers: Object.fromEntries(response.headers), body: text }),
      );
    }
    const isStream = /text\/event-stream/i.test(response.headers.get("content-type") ?? "");
    if (!isStream || request.dialect.assemble === null) {
      isWritten = true;
      const whole = await readWhole(request, response, run);
      return counted(request, whole, null);
    }
    const told = request.dialect.assemble();
    assembly = told;
    const outcome = await readStream(request, response, told, run);
    return counted(request, outcome, told.size());
  } catch (error) {
    const isLong = error instanceof EventTooLarge;
    const spent = spentWhenCut(request, assembly, isLong || isWritten || run.signal.aborted);
    if (isLong) return failed(eventTooLarge(maxEventBytesOf(request)), spent);
    if (error instanceof NotKept) return failed(error.failure, spent);
    return failedBy(error, request.way.classify(error), spent);
  } finally {
    done.abort();
  }
};

/** Nothing that costs money is free because its runtime does not count it. */
const counted = (request: Exchange, outcome: Outcome, chars: number | null): Outcome =>
  request.way.isMetered !== true || !outcome.ok
    ? outcome
    : { ...outcome, ...spentOnAnswer(outcome.usage, () => inputTokens(request), outcome.result, chars) };

const inputTokens = ({ body }: Exchange): number => (typeof body === "string" ? inputTokensOf(parseJson(body)) : 0);

const sentAs = (body: string | FormBody, way: Way) => {
  if (typeof body === "string") return { headers: { "content-type": "application/json" }, body };
  const headers = { "content-type": body.type, "content-length": String(body.bytes) };
  return { headers, body: way.streamOf(body), duplex: "half" };
};

/** Of a request that its runtime has read; one that breaks off before its answer has cost nothing. */
const spentWhenCut = (request: Exchange, assembly: Assembly | null, isRead: boolean): Spent => {
  if (assembly === null) return isRead ? spentOnAnswer(undefined, () => inputTokens(request), null, null) : {};
  if (!isRead && assembly.size() === 0) return request.dialect.spentOf(assembly.result());
  return spentSoFar(request.dialect, assembly, () => inputTokens(request));
};

const traceOf = ({ traceparent }: Pick<RunOptions, "traceparent">): Record<string, string> =>
  traceparent ? { traceparent } : {};

const maxEventBytesOf = ({ way: { maxEventBytes = MAX_LARGE_RESULT_BYTES } }: Exchange): number => maxEventBytes;

const readStream = async (
  request: Exchange,
  response: RuntimeAnswer,
  assembly: Assembly,
  { emit, isPassedOn }: Pick<RunOptions, "emit" | "isPassedOn">,
): Promise<Outcome> => {
  const { maxResultBytes } = request.way;
  const reading = { ...request, maxResultBytes, isPassedOn, inputTokens: () => inputTokens(request) };
  const reader = new StreamReader(reading, assembly, emit);
  const splitter = new EventSplitter(maxEventBytesOf(request));
  for await (const bytes of piecesOf(response, reader)) {
    const refused = await reader.take(splitter.take(bytes));
    if (refused !== null) return refused;
  }
  return (await reader.take(splitter.finish())) ?? reader.end();
};

/** After the end's mark, the rest is read for a moment: a connection whose answer is read to its end can be used again. */
async function* piecesOf({ body }: RuntimeAnswer, reader: StreamReader): AsyncGenerator<Uint8Array> {
  const pieces = body?.[Symbol.asyncIterator]();
  let untilAt = Number.POSITIVE_INFINITY;
  while (pieces !== undefined && Date.now() < untilAt) {
    const next = pieces.next();
    if (reader.isEnded()) untilAt = Math.min(untilAt, Date.now() + AFTER_END_MS);
    const piece = await (reader.isEnded() ? within(next, untilAt - Date.now()).catch(() => null) : next);
    if (piece === null || piece.done) return;
    yield piece.value;
  }
}
