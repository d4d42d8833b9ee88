// Stored answers of the Responses API: which one a request may follow, and what of earlier turns it carries along. Each
// turn keeps its own input and its answer; a request that names the turn before is put together from the whole chain,
// because runtimes know no state.

import type { JobError, ResultFile } from "../job/job.ts";
import type { FinalStatus } from "../words/job-status.ts";
import { hasFields, type Json } from "../words/json.ts";
import { invalid, type Refusal } from "../words/refusal.ts";
import { err, ok, type Result } from "../words/result.ts";
import { MIB } from "../words/size.ts";

export const MAX_CHAIN_TURNS = 100;
export const MAX_CHAIN_BYTES = 8 * MIB;
/** Of a tenant's stored turns, without those that lie in files. */
export const MAX_RESPONSES_BYTES = 2_000_000_000;
/** The purpose of a file that is the input of a turn. */
export const INPUT_PURPOSE = "response_input";

const PREFIX = "resp_";
export const responseIdOf = (jobId: string): string => PREFIX + jobId;
export const jobIdOfResponse = (id: string): string => (id.startsWith(PREFIX) ? id.slice(PREFIX.length) : id);

/** How its job ended. */
export interface ResponseEnd {
  readonly status: FinalStatus;
  readonly error: JobError | null;
  readonly answerFile: Pick<ResultFile, "id" | "bytes"> | null;
}

/** One turn; `id` is its job's. */
export interface StoredResponse {
  readonly id: string;
  readonly keyId: string | null;
  readonly isBackground: boolean;
  readonly previousId: string | null;
  /** Its place in its chain, from 1. */
  readonly turns: number;
  /** Of the chain's inputs and answers, up to this one. */
  readonly chainBytes: number;
  /** The file with its input, if that is too large for a row. */
  readonly inputFile: string | null;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** null: its job is open. */
  readonly end: ResponseEnd | null;
}

const PARAMETER = "previous_response_id";

export const noSuchTurn = (id: string): Refusal =>
  invalid(PARAMETER, `there is no response ${JSON.stringify(responseIdOf(id))}, or it is no longer stored`);

/** Whether a request may follow this turn. */
export const mayFollow = (previous: StoredResponse): Result<null, Refusal> => {
  const { id, end, turns, chainBytes } = previous;
  const name = JSON.stringify(responseIdOf(id));
  if (end === null) return err(invalid(PARAMETER, `response ${name} is not complete yet: wait until it has ended`));
  if (end.status !== "completed")
    return err(invalid(PARAMETER, `response ${name} has no answer: it ${ENDED[end.status]}`));
  if (turns >= MAX_CHAIN_TURNS)
    return err(invalid(PARAMETER, `a chain has at most ${MAX_CHAIN_TURNS} turns: send the conversation as input`));
  return fitsChain(chainBytes);
};

const ENDED = { failed: "failed", cancelled: "was cancelled" } as const;

export const fitsChain = (bytes: number): Result<null, Refusal> =>
  bytes <= MAX_CHAIN_BYTES
    ? ok(null)
    : err(invalid(PARAMETER, `a chain has at most ${MAX_CHAIN_BYTES} bytes: send a shorter conversation as input`));

/** The `input` of a request as the list that it stands for. */
export const inputItemsOf = (input: Json | undefined): readonly Json[] => {
  if (Array.isArray(input)) return input;
  return input == null ? [] : [{ type: "message", role: "user", content: input }];
};

/** The id by which an item of a request refers to one of a stored answer; null if it is an item itself. */
export const referredIdOf = (item: Json): string | null =>
  hasFields(item) && item.type === REFERENCE && typeof item.id === "string" ? item.id : null;
export const REFERENCE = "item_reference";
export const MAX_REFERENCES = 1000;

export const noSuchItem = (id: string): Refusal =>
  invalid("input", `there is no item ${JSON.stringify(id)} in a stored answer of this key: send the item itself`);

/** Thoughts that only the one who stored them could read again. */
const isEmptyThought = (item: Json): boolean =>
  hasFields(item) && item.type === "reasoning" && item.encrypted_content == null && !hasContent(item.content);

const hasContent = (content: Json | undefined): boolean => Array.isArray(content) && content.length > 0;

/** What the next turn carries of an answer. */
export const carriedItemsOf = (answer: Json): readonly Json[] => {
  const output = hasFields(answer) ? answer.output : null;
  return Array.isArray(output) ? output.filter((item) => !isEmptyThought(item)) : [];
};
