// The router's verdict on one worker for one request.

import type { ScorePart } from "./score-part.ts";

/** Each part of a score, in [0, 1]. */
export type Parts = Record<ScorePart, number> & {
  /** For a request in a conversation: 1 for the worker of the previous turn. */
  readonly affinity?: number;
};

export interface WorkerVerdict {
  readonly instance: string;
  readonly provider: string;
  readonly eligible: boolean;
  readonly score: number | null;
  readonly breakdown: Readonly<Partial<Parts>>;
  readonly reasons: readonly string[];
  /** Why it comes after others, whatever its score. */
  readonly note?: string;
}
