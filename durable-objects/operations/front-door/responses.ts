// Stored responses, for their clients: read, follow, cancel, delete. A client key's are its own; another's do not exist.

import { type FileResource, presentFile } from "../../../contract/file.ts";
import {
  INPUT_PURPOSE,
  inputItemsOf,
  MAX_RESPONSES_BYTES,
  mayFollow,
  noSuchItem,
  noSuchTurn,
  responseIdOf,
  type StoredResponse,
} from "../../../domain/front-door/stored-response.ts";
import { cancelJob } from "../../../domain/job/job-command.ts";
import { DAY_MS } from "../../../domain/words/duration.ts";
import { isFinal, type JobStatus } from "../../../domain/words/job-status.ts";
import type { Json } from "../../../domain/words/json.ts";
import { invalid, notFound, type Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import type { Turn } from "../../turn/turn.ts";
import { type ArrivedFile, arrive, drop } from "../files/files.ts";

const ENDED_A_SWEEP = 200;
/** So that one request never deletes for long. */
const DROPPED_A_TURN = 20;
/** Texts of a chain that one call answers with. */
const CHAIN_CHARS_A_CALL = 1024 * 1024;
/** The first call tells nothing of a longer chain but its size: the request may be refused for it. */
export const SHORT_CHAIN_BYTES: number = 64 * 1024;

/** What a request says of the turn that it will be. */
export interface NewResponse {
  readonly isBackground: boolean;
  readonly previousId: string | null;
  readonly turns: number;
  /** Of the turns before it. */
  readonly earlierBytes: number;
  /** Of the job's input, how many items are of earlier turns. */
  readonly carried: number;
  /** Given where the body is stored outside this object. */
  readonly held: HeldInput | null;
}

export interface HeldInput {
  /** The request without its input. */
  readonly head: string;
  /** The turn's own items; null if they lie in a file. */
  readonly input: string | null;
  readonly inputFile: string | null;
  readonly inputBytes: number;
}

/** A stored response as its client may read it. */
export interface ResponseFacts {
  readonly response: StoredResponse;
  readonly status: JobStatus;
  readonly head: string;
  readonly answer: string | null;
}

/** Without the turns of its chain. */
export interface TurnTexts {
  readonly id: string;
  readonly input: string | null;
  readonly inputFile: string | null;
  readonly answer: string | null;
  readonly answerFile: string | null;
}

export interface ChainPart {
  readonly turns: number;
  readonly bytes: number;
  /** The newest first. */
  readonly texts: readonly TurnTexts[];
  /** The turn at which the chain goes on, towards its beginning. */
  readonly next: string | null;
}

const lifeMs = (turn: Turn): number => turn.memory.config.frontDoor.responsesDays * DAY_MS;

/** Keeps a new job's turn; the oldest turns make room where a tenant has too many. */
export const addResponse = (turn: Turn, id: string, asked: NewResponse, input: Json): void => {
  const { held, carried, earlierBytes, ...facts } = asked;
  const { input: given, ...head } = (input ?? {}) as Readonly<Record<string, Json>>;
  const texts =
    held === null
      ? { head: JSON.stringify(head), input: JSON.stringify(inputItemsOf(given).slice(carried)), answer: null }
      : { head: held.head, input: held.input, answer: null };
  const { responses } = turn.store;
  if (responses.chars() > MAX_RESPONSES_BYTES)
    for (const one of responses.oldest(DROPPED_A_TURN)) removeTurn(turn, one);
  const response: StoredResponse = {
    ...facts,
    id,
    keyId: turn.caller.keyId,
    chainBytes: earlierBytes + (held?.inputBytes ?? texts.input?.length ?? 0),
    inputFile: held?.inputFile ?? null,
    createdAt: turn.nowAt,
    expiresAt: turn.nowAt + lifeMs(turn),
    end: null,
  };
  responses.add(response, texts);
  turn.due(response.expiresAt);
};

const findResponse = (turn: Turn, id: string): StoredResponse | null => {
  const found = turn.store.responses.find(id);
  const { role, keyId } = turn.caller;
  const isVisible = found !== null && found.expiresAt > turn.nowAt && (role !== "client" || found.keyId === keyId);
  return isVisible ? found : null;
};

const notThere = (id: string): Refusal => notFound("response", responseIdOf(id));

const tell = (turn: Turn, response: StoredResponse): ResponseFacts => {
  const { head, answer } = turn.store.responses.texts(response.id);
  const status = response.end?.status ?? turn.store.jobs.find(response.id)?.status ?? "pending";
  return { response, status, head, answer };
};

export const getResponse = (turn: Turn, { id }: { id: string }): Result<ResponseFacts, Refusal> => {
  const found = findResponse(turn, id);
  return found === null ? err(notThere(id)) : ok(tell(turn, found));
};

/** The last turns of a chain, for a request that is to follow it; bounded, and asked again from `next`. */
export const readChain = (
  turn: Turn,
  { id, isBeginning }: { id: string; isBeginning: boolean },
): Result<ChainPart, Refusal> => {
  const first = findResponse(turn, id);
  if (first === null) return err(noSuchTurn(id));
  const allowed = isBeginning ? mayFollow(first) : ok(null);
  if (!allowed.ok) return allowed;
  const { turns, chainBytes: bytes } = first;
  if (isBeginning && bytes > SHORT_CHAIN_BYTES) return ok({ turns, bytes, texts: [], next: id });
  return chainFrom(turn, first);
};

/** The turns before a stored response, and its own input: what its answer was made from. */
export const readItems = (turn: Turn, { id }: { id: string }): Result<ChainPart, Refusal> => {
  const found = findResponse(turn, id);
  if (found === null) return err(notThere(id));
  return chainFrom(turn, found);
};

/** Where items of the key's stored answers are. */
export interface FoundItems {
  /** By id; empty if they take more than was asked for. */
  readonly answers: Readonly<Record<string, string>>;
  /** For each item, the id of its answer. */
  readonly places: readonly string[];
  readonly bytes: number;
}

/** The edge takes the items out: an answer is long, and is read once here. */
export const findItems = (
  turn: Turn,
  { ids, mostBytes }: { ids: readonly string[]; mostBytes: number },
): Result<FoundItems, Refusal> => {
  const { responses } = turn.store;
  const places: string[] = [];
  for (const id of ids) {
    const place = responses.withItem(turn.caller.keyId, id, turn.nowAt);
    if (place === null) return err(noSuchItem(id));
    places.push(place);
  }
  const named = [...new Set(places)];
  const bytes = named.reduce((sum, place) => sum + responses.charsOf(place), 0);
  const read = bytes > mostBytes ? [] : named;
  return ok({
    answers: Object.fromEntries(read.map((id) => [id, responses.texts(id).answer ?? "null"])),
    places,
    bytes,
  });
};

const chainFrom = (turn: Turn, first: StoredResponse): Result<ChainPart, Refusal> => {
  const texts: TurnTexts[] = [];
  let chars = 0;
  let next: string | null = first.id;
  while (next !== null && (texts.length === 0 || chars < CHAIN_CHARS_A_CALL)) {
    const one: StoredResponse | null = next === first.id ? first : findResponse(turn, next);
    if (one === null) return err(noSuchTurn(next));
    const { input, answer } = turn.store.responses.texts(one.id);
    const { inputFile, end } = one;
    texts.push({ id: one.id, input, inputFile, answer, answerFile: end?.answerFile?.id ?? null });
    chars += (input?.length ?? 0) + (answer?.length ?? 0);
    next = one.previousId;
  }
  return ok({ turns: first.turns, bytes: first.chainBytes, texts, next });
};

/** Cancels a background response. If it has ended, it stays as it is. */
export const cancelResponse = (turn: Turn, { id }: { id: string }): Result<ResponseFacts, Refusal> => {
  const found = findResponse(turn, id);
  if (found === null) return err(notThere(id));
  if (!found.isBackground) return err(invalid("background", "only a response made with background: true is cancelled"));
  cancelOpen(turn, found);
  return getResponse(turn, { id });
};

const cancelOpen = (turn: Turn, { id }: StoredResponse): void => {
  const job = turn.store.jobs.find(id);
  if (job === null || isFinal(job.status)) return;
  const decided = cancelJob(job, turn.nowAt);
  if (!decided.ok) return;
  turn.sendHalt(job, "cancelled");
  turn.record(job, decided.value);
};

/** Deletes a stored response. One in the background that still runs is cancelled. */
export const deleteResponse = (turn: Turn, { id }: { id: string }): Result<null, Refusal> => {
  const found = findResponse(turn, id);
  if (found === null) return err(notThere(id));
  if (found.isBackground) cancelOpen(turn, found);
  removeTurn(turn, turn.store.responses.find(id) ?? found);
  return ok(null);
};

const removeTurn = (turn: Turn, { id, inputFile, end }: StoredResponse): void => {
  turn.store.responses.remove(id);
  for (const fileId of [inputFile, end?.answerFile?.id ?? null]) {
    const file = fileId === null ? null : turn.store.files.find(fileId);
    if (file !== null) drop(turn, file);
  }
};

/** The input of a turn that is too large for a row has arrived. */
export const finishInput = (
  turn: Turn,
  arrived: Omit<ArrivedFile, "lifeMs" | "purpose">,
): Result<FileResource, Refusal> => {
  const file = arrive(turn, { ...arrived, purpose: INPUT_PURPOSE, lifeMs: lifeMs(turn) });
  return file.ok ? ok(presentFile(file.value)) : file;
};

/** Stored responses past their end. */
export const endResponses = (turn: Turn): void => {
  for (const one of turn.store.responses.ended(turn.nowAt, ENDED_A_SWEEP)) removeTurn(turn, one);
};
