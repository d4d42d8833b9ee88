// What the worker must know of an API to pass its answers through: how a stream becomes the whole answer, which of its
// events is the first with content, how it says that it is over or has failed, and what was spent. It translates nothing.

import type { Spent } from "../runtimes/runtime.ts";

export type Noted =
  | { kind: "content" }
  /** Nothing that a person would see: a role, a ping, usage. */
  | { kind: "other" }
  /** The runtime's own error, in whatever shape it has. */
  | { kind: "error"; error: unknown };

/** The whole answer, as it grows out of the events of a stream. */
export type Assembly = {
  take: (data: string) => Noted;
  /** Whether the runtime has said that the answer is over. */
  isWhole: () => boolean;
  /** Events that a whole answer still lacks, because this runtime leaves them out. */
  closing: () => string;
  /** About how much of the result there is, in characters. */
  size: () => number;
  result: () => unknown;
};

export type Dialect = {
  /** Null where the API has no streams. */
  assemble: (() => Assembly) | null;
  spentOf: (result: unknown) => Spent;
};

export const CONTENT: Noted = { kind: "content" };
export const OTHER: Noted = { kind: "other" };
