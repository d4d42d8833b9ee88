// The events of a stored response, for any reader at any time: those of one attempt, without the job's states. While its
// job runs they come from the relay, as its runtime numbers them; where they are no longer to be had, they are made again
// from the whole answer, numbered from 0.
// Events up to the place that the reader names are left out. The last event always comes, and has the whole response.

import { namedAnswer, presentResponse } from "../../../contract/front-door/response.ts";
import { dataOf, eventsIn } from "../../../contract/text/event-text.ts";
import { isObject, parseJson } from "../../../contract/text/json-object.ts";
import { WholeEvents } from "../../../contract/text/whole-events.ts";
import { OK } from "../../../contract/words/http-status.ts";
import { MAX_CHAIN_BYTES, type StoredResponse } from "../../../domain/front-door/stored-response.ts";
import type { Json } from "../../../domain/words/json.ts";
import type { Followed } from "../../../durable-objects/operations/front-door/follow.ts";
import { readBytes } from "../../files/objects.ts";
import type { AppContext } from "../../http/auth.ts";
import type { TokenFacts } from "../../http/key-format.ts";
import { unwrap } from "../../http/refused.ts";
import { ask } from "../../tenant/ask.ts";
import { followJob } from "./follow-job.ts";
import { eventsOfResult } from "./from-result.ts";
import { WHOLE_ANSWERS } from "./named-answer.ts";
import { chunksOf, firstChunks, isStreaming, keptAlive, statesOf } from "./second-reader.ts";
import { type WrittenBody, writtenBody } from "./written-body.ts";

const FAILED = "response.failed";

interface NumberedEvent {
  readonly type: string;
  readonly number: number;
  readonly data: { readonly [name: string]: Json };
}

const eventOf = (text: string): NumberedEvent | null => {
  const data = parseJson(dataOf(text));
  if (!isObject(data) || typeof data.type !== "string" || typeof data.sequence_number !== "number") return null;
  return { type: data.type, number: data.sequence_number, data: data as NumberedEvent["data"] };
};

const written = ({ type, data }: NumberedEvent): string => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;

/** What one reader has, and what it gets next. */
class Place {
  readonly #response: StoredResponse;
  #last: number;
  /** It has got its last event. */
  isOver = false;
  /** Events of an attempt came: those of another would not continue them. */
  hasBegun = false;

  constructor(response: StoredResponse, after: number | null) {
    this.#response = response;
    this.#last = after ?? -1;
  }

  /** The part of some events that the reader does not have. */
  next(events: string): string {
    let said = "";
    for (const text of eventsIn(events)) {
      const event = eventOf(text);
      if (event === null || this.isOver) continue;
      this.hasBegun = true;
      if (event.type === FAILED) said += this.#end(event);
      // A whole answer may not be stored yet, so a reader gets it later, as it is stored.
      else if (event.number > this.#last && !WHOLE_ANSWERS.includes(event.type)) said += this.#say(event);
    }
    return said;
  }

  /** A response that is over, of which this reader has no events yet, or only some. */
  rest(answer: Json): string {
    const events = eventsIn(eventsOfResult("responses", answer, true));
    const said = this.hasBegun ? "" : this.next(events.join("\n\n"));
    const last = eventOf(events.at(-1) ?? "");
    return last === null || this.isOver ? said : said + this.#end(last);
  }

  #say(event: NumberedEvent): string {
    this.#last = event.number;
    const { response } = event.data;
    if (response === undefined) return written(event);
    return written({ ...event, data: { ...event.data, response: namedAnswer(response, this.#response) } });
  }

  #end(event: NumberedEvent): string {
    this.isOver = true;
    const number = this.#last + 1;
    return this.#say({ ...event, number, data: { ...event.data, sequence_number: number } });
  }
}

/** Refuses before the answer begins; from then on the stream says how it ends. */
export const responseEvents = async (
  c: AppContext,
  token: TokenFacts,
  response: StoredResponse,
  after: number | null,
): Promise<ReadableStream<Uint8Array>> => {
  const place = new Place(response, after);
  const body = writtenBody();
  const job = response.end === null ? unwrap(await followJob(c, token, response.id)) : null;
  const first = job === null ? null : await firstChunks(c, token, job, null);
  const run = async (): Promise<void> => {
    if (job !== null) await followAttempts(c, token, job, { first, place, body });
    if (!place.isOver) await body.write(place.rest(await answerOf(c, token, response.id)));
    await body.close();
  };
  c.executionCtx.waitUntil(run().catch((error) => body.abort(error).catch(() => undefined)));
  return body.readable;
};

interface Following {
  readonly first: Response | null;
  readonly place: Place;
  readonly body: WrittenBody;
}

/** Until the job is over, or the reader has the last event. */
const followAttempts = async (
  c: AppContext,
  token: TokenFacts,
  from: Followed,
  { first, place, body }: Following,
): Promise<void> => {
  let chunks = first;
  for await (const job of statesOf(c, token, from, body)) {
    if (!isStreaming(job) || place.hasBegun) continue;
    chunks ??= await chunksOf(c, token, job, null);
    // The relay's comments are left out with all that is no event.
    if (chunks.status === OK && chunks.body !== null)
      await keptAlive(body, pass(chunks.body, place, body, c.req.raw.signal));
    chunks = null;
    if (place.isOver) return;
  }
};

/** Until the reader leaves: a worker that says nothing must not keep its place at the relay. */
const pass = (
  chunks: ReadableStream<Uint8Array>,
  place: Place,
  body: WrittenBody,
  signal: AbortSignal,
): Promise<void> => {
  const decoder = new TextDecoder();
  const events = new WholeEvents();
  const write = async (chunk: Uint8Array): Promise<void> => {
    const said = place.next(decoder.decode(events.take(chunk), { stream: true }));
    if (said !== "") await body.write(said);
  };
  return chunks.pipeTo(new WritableStream({ write }), { signal });
};

/** The response as it ended. */
const answerOf = async (c: AppContext, token: TokenFacts, id: string): Promise<Json> => {
  const { response, status, head, answer } = await ask(c, token, "getResponse", { id });
  const file = response.end?.answerFile ?? null;
  if (file === null || file.bytes > MAX_CHAIN_BYTES) return presentResponse(response, status, { head, answer });
  const text = await new Response(await readBytes({ env: c.env, name: token, id: file.id }, 0, file.bytes)).text();
  return JSON.parse(text) as Json;
};
