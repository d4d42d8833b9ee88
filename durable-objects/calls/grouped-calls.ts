// Calls as text: the platform copies text at once, but an object property by property, and keeps an answered object
// until its caller lets go of it. The edge passes most answers on as the object wrote them. Self-hosted, the edge in
// Node sends the waiting calls of a tenant as a group. Each call is authenticated, decided and answered separately; a
// call of a group that throws fails alone.

import type { Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import type { OperationName } from "../api.ts";
import type { Credential } from "../steps/holders.ts";

export interface GroupedCall {
  readonly credential: Credential;
  readonly name: OperationName;
  readonly request: unknown;
}

/** The outcome of a method's call; `thrown` is the platform's error or a bug, never a refusal. */
export type Outcome = { readonly value: unknown } | { readonly thrown: Thrown };

interface Thrown {
  readonly message: string;
  readonly retryable?: boolean;
  readonly overloaded?: boolean;
}

export const thrownOf = (error: unknown): Thrown => {
  const { message, retryable, overloaded } = error as Thrown;
  return {
    message: String(message),
    ...(retryable === true ? { retryable } : {}),
    ...(overloaded === true ? { overloaded } : {}),
  };
};

/** The error that `thrownOf` wrote. */
const errorOf = (thrown: Thrown): Error => Object.assign(new Error(thrown.message), thrown);

/** Reads the outcome of a method's call; throws what it threw. */
export const readOutcome = (text: string): unknown => {
  const outcome = JSON.parse(text) as Outcome;
  if ("thrown" in outcome) throw errorOf(outcome.thrown);
  return outcome.value;
};

type Call = (credential: Credential, name: OperationName, request: never) => Promise<Result<unknown, Refusal>>;

/** How an answer ends that repeats the first one (`recall` in `steps/idempotency.ts`). */
const REPLAYED_END = ',"replayed":true}';

/** A value as the object wrote it. */
export class Written<T> {
  /** Its JSON, in one line. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  read(): T {
    return JSON.parse(this.text) as T;
  }

  /** The first answer, if this is a repetition of it; else null. */
  first(): Written<T> | null {
    return this.text.endsWith(REPLAYED_END) ? new Written(`${this.text.slice(0, -REPLAYED_END.length)}}`) : null;
  }
}

/**
 * What begins the line of an outcome; JSON follows, which has no line breaks. Before it stands the number of the
 * database with the tenant's history, unless that is 0: who asks learns where to read.
 */
const VALUE = "+";
const REFUSAL = "-";
const THROWN = "!";
/** The whole line of a call that must wait: who has it as an answer asks again with `callText`. */
export const LATER = "~";
/** The whole line of a call that was not done because the answers before it are long: it goes with the next group. */
export const NEXT = ">";

/** Of the answers to a group; the last of them may be longer. Others of this process wait while they are written. */
const MAX_ANSWER_CHARS = 1_000_000;

const lineOf = (result: Result<unknown, Refusal>, database: number): string => {
  const line = result.ok ? `${VALUE}${JSON.stringify(result.value)}` : `${REFUSAL}${JSON.stringify(result.error)}`;
  return database === 0 ? line : `${database}${line}`;
};

/** Where the number ends that stands before a line. */
const startOfLine = (line: string): number => line.search(/\D/);

export const databaseOfLine = (line: string): number => Number(line.slice(0, startOfLine(line)));

/** Reads the line of one outcome; throws what the call threw. */
export const readLine = <T>(line: string): Result<Written<T>, Refusal> => {
  const at = startOfLine(line);
  const json = line.slice(at + 1);
  if (line.startsWith(VALUE, at)) return ok(new Written<T>(json));
  if (line.startsWith(REFUSAL, at)) return err(JSON.parse(json) as Refusal);
  throw errorOf(JSON.parse(json) as Thrown);
};

/** The line of a call that has thrown. */
export const thrownLine = (error: unknown): string => `${THROWN}${JSON.stringify(thrownOf(error))}`;

/** Runs one call; answers with the line of its outcome. */
export const answerText = async (text: string, call: Call, database: () => number): Promise<string> => {
  const { credential, name, request } = JSON.parse(text) as GroupedCall;
  const result = await call(credential, name, request as never);
  return lineOf(result, database());
};

/** Runs the turns that `begin` queues together, at once. */
type Together = <T>(begin: () => T) => T;

/** A call; its turn is what `inTurn` makes of it. */
type CallInTurn = <T>(
  credential: Credential,
  name: OperationName,
  request: never,
  inTurn: (decide: () => Result<unknown, Refusal>) => T,
) => Promise<T>;

/**
 * Runs a group; answers with a line for each outcome. Its calls become turns together, so they share a commit; what must
 * wait is not called, so that nothing waits behind it, and what comes after long answers is not done.
 */
export const answerGroup = async (
  group: string,
  together: Together,
  call: CallInTurn,
  database: () => number,
  mustWait: (name: OperationName) => boolean = () => false,
): Promise<string> => {
  const calls = JSON.parse(group) as readonly GroupedCall[];
  let chars = 0;
  const write = (decide: () => Result<unknown, Refusal>): string => {
    if (chars > MAX_ANSWER_CHARS) return NEXT;
    const line = lineOf(decide(), database());
    chars += line.length;
    return line;
  };
  const settled = await Promise.allSettled(
    together(() =>
      calls.map((one) => (mustWait(one.name) ? LATER : call(one.credential, one.name, one.request as never, write))),
    ),
  );
  return settled.map((one) => (one.status === "rejected" ? thrownLine(one.reason) : one.value)).join("\n");
};

/** The lines in the answer to a group. */
export const linesOf = (answered: string): string[] => answered.split("\n");
