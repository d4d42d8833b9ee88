// An answer that is no stream. Up to 1 MiB of JSON is the job's result; anything else passes to where results are kept
// while it arrives, and only what it spent is read. An ordinary job's is held: its result is what it says.

import { MAX_SPEECH_BYTES, SPEECH_DONE, speechDelta } from "../../contract/front-door/speech.ts";
import { isObject, parseJson } from "../../contract/text/json-object.ts";
import { MAX_RESULT_BYTES } from "../../contract/words/field.ts";
import { MAX_LARGE_RESULT_BYTES } from "../../contract/words/values.ts";
import { type Dialect, isAnswerOf, lacking } from "../apis/dialect.ts";
import { TopMembers } from "../apis/top-members.ts";
import { withoutArray } from "./error-body.ts";
import {
  failed,
  type JobFailure,
  KnownFailure,
  type Outcome,
  type RunOptions,
  type RuntimeAnswer,
  resultTooLarge,
} from "./runtime.ts";

type Reader = {
  dialect: Dialect;
  way: { maxResultBytes?: number };
  /** The failure for an error in the answer, worded for the caller. */
  explain: (failure: { body?: unknown }) => JobFailure;
};

type Store = NonNullable<RunOptions["store"]>;

const NOT_JSON = "it answered with something that is not JSON";
/** What is read of a large answer: its error, and what tells its cost. */
const READ_MEMBERS = ["error", "model", "usage"];
const JSON_TYPE = "application/json";
const OCTETS = "application/octet-stream";

/** An answer that cannot be kept. It was written all the same, and counts. */
export class NotKept extends KnownFailure {}

export const readWhole = async (
  reader: Reader,
  response: RuntimeAnswer,
  { store, isRead, isPassedOn, emit }: Pick<RunOptions, "store" | "isRead" | "isPassedOn" | "emit">,
): Promise<Outcome> => {
  const type = response.headers.get("content-type") ?? "";
  const pieces = piecesOf(response);
  if (reader.dialect.answersInBytes === true && !/\bjson\b/i.test(type)) {
    const first = await pieces.next();
    // A proxy's page is no answer. An empty one is no sound, but may be the text of silence.
    const isNone = /\bhtml\b/i.test(type) || (first.done === true && reader.dialect.speaks === true);
    if (isNone) return failed(reader.explain({ body: lacking(reader.dialect) }));
    const bytes = bounded(first.done ? [] : [first.value], pieces);
    if (reader.dialect.speaks === true && isPassedOn === true) return speak(bytes, type || OCTETS, emit);
    if (store === undefined) throw new NotKept(resultTooLarge());
    const kept = await store(bytes, type || OCTETS);
    if (!kept.ok) throw new NotKept(kept.error);
    return { ok: true, result: null, stored: kept.file };
  }
  const heldBytes = isRead ? (reader.way.maxResultBytes ?? MAX_LARGE_RESULT_BYTES) : MAX_RESULT_BYTES;
  const { start, isWhole } = await startOf(pieces, heldBytes);
  if (isWhole) return resultOf(reader, parseJson(new TextDecoder().decode(Buffer.concat(start))));
  if (store === undefined) throw new NotKept(resultTooLarge(heldBytes));
  return storeJson(reader, start, pieces, store);
};

async function* piecesOf({ body }: RuntimeAnswer): AsyncGenerator<Uint8Array> {
  for await (const piece of body ?? []) yield piece;
}

const speak = async (
  pieces: AsyncIterable<Uint8Array>,
  contentType: string,
  emit: RunOptions["emit"],
): Promise<Outcome> => {
  let bytes = 0;
  for await (const piece of pieces) {
    for (let at = 0; at < piece.byteLength; at += MAX_SPEECH_BYTES) {
      const part = piece.subarray(at, at + MAX_SPEECH_BYTES);
      await emit([speechDelta(part, bytes === 0 ? contentType : null)]);
      bytes += part.byteLength;
    }
  }
  await emit([SPEECH_DONE]);
  return { ok: true, result: null, passedOnBytes: bytes };
};

const storeJson = async (
  reader: Reader,
  start: readonly Uint8Array[],
  pieces: AsyncIterator<Uint8Array>,
  store: Store,
): Promise<Outcome> => {
  const members = new TopMembers(READ_MEMBERS);
  const kept = await store(
    bounded(start, pieces, (piece) => members.push(piece)),
    JSON_TYPE,
  );
  if (!kept.ok) throw new NotKept(kept.error);
  const outcome = resultOf(reader, members.finish() ?? undefined, true);
  return outcome.ok ? { ...outcome, result: null, stored: kept.file } : outcome;
};

/** `isPart`: only some members of it were read. A proxy's or another service's JSON must not pass for an empty answer. */
const resultOf = ({ dialect, explain }: Reader, result: unknown, isPart = false): Outcome => {
  if (result == null) return failed(explain({ body: NOT_JSON }));
  const said = withoutArray(result);
  if (isObject(said) && said.error) return failed(explain({ body: said }));
  const isAnswer = isPart || isAnswerOf(dialect, result);
  const spent = dialect.spentOf(result);
  return isAnswer ? { ok: true, result, ...spent } : failed(explain({ body: lacking(dialect) }), spent);
};

/** All of it, or the beginning of more than is held. */
const startOf = async (
  pieces: AsyncIterator<Uint8Array>,
  heldBytes: number,
): Promise<{ start: Uint8Array[]; isWhole: boolean }> => {
  const start: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await pieces.next();
    if (done) return { start, isWhole: true };
    start.push(value);
    bytes += value.byteLength;
    if (bytes > heldBytes) return { start, isWhole: false };
  }
};

async function* bounded(
  start: readonly Uint8Array[],
  pieces: AsyncIterator<Uint8Array>,
  note?: (piece: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  const count = (piece: Uint8Array): Uint8Array => {
    bytes += piece.byteLength;
    if (bytes > MAX_LARGE_RESULT_BYTES) throw new NotKept(resultTooLarge());
    note?.(piece);
    return piece;
  };
  for (const piece of start) yield count(piece);
  for (;;) {
    const { done, value } = await pieces.next();
    if (done) return;
    yield count(value);
  }
}
