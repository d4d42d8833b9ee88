// What the worker must know about an API to pass its answers through: how a stream becomes the whole answer, which
// event is the first with content, how it signals its end or a failure, and what was spent. It translates nothing.

import { readPath } from "../../contract/words/values.ts";
import type { Spent } from "./usage.ts";

export type Noted =
  | { kind: "content" }
  /** Nothing that a person would see: a role, a ping, usage. */
  | { kind: "other" }
  /** The runtime's own error, in any format. */
  | {
      kind: "error";
      error: unknown;
      /** The API's own end of a stream that failed: a client with a begun answer gets it unchanged. */
      isEnd?: true;
    };

/** The whole answer, built up from the events of a stream. */
export type Assembly = {
  take: (data: string) => Noted;
  /** Whether the runtime has signalled the end of the answer. */
  isWhole: () => boolean;
  /** Whether the mark has come after which the API sends nothing. */
  isEnded: () => boolean;
  /** Events that complete the answer, if this runtime omits them. */
  closing: () => string;
  /** Whether the runtime has reported what the whole answer spent. */
  isCounted: () => boolean;
  /** Approximate size of the result in characters. */
  size: () => number;
  result: () => unknown;
  /** Drops the text so far, which still counts in its size. Absent: its text cannot be dropped. */
  forget?: () => void;
};

export type Dialect = {
  /** Null if the API has no streams. */
  assemble: (() => Assembly) | null;
  spentOf: (result: unknown) => Spent;
  /** Paths of which each answer has one, also an answer that says nothing. Without, another program wrote it. */
  answerHas: readonly string[];
  /** Its answer may be something else than JSON: sound, or plain text. */
  answersInBytes?: true;
  /** Such an answer passes as it comes, as OpenAI's events of sound, if its client reads events. */
  speaks?: true;
};

/** `result` is an answer of the API, as far as one can tell. */
export const isAnswerOf = ({ answerHas }: Dialect, result: unknown): boolean =>
  answerHas.some((path) => readPath(result, path) != null);

export const mainField = ({ answerHas: [path = ""] }: Dialect): string => path.split(".")[0] ?? "";

/** What is wrong with an answer of another program. */
export const lacking = (dialect: Dialect): string => `its answer has no ${mainField(dialect)}`;

export const CONTENT: Noted = { kind: "content" };
export const OTHER: Noted = { kind: "other" };
export const NOT_JSON: Noted = { kind: "error", error: "the runtime sent an event that is not JSON" };
