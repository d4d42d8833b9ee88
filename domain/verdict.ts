// What the router says of one worker for one request.

import type { ScorePart } from "./score-part.ts";

/** Each part of a score, in [0, 1]. */
export type Parts = Record<ScorePart, number> & {
  /** Of a request that belongs to a conversation: 1 for the worker that had its last turn. */
  readonly affinity?: number;
};

export interface WorkerVerdict {
  readonly instance: string;
  readonly provider: string;
  readonly eligible: boolean;
  readonly score: number | null;
  readonly breakdown: Readonly<Partial<Parts>>;
  readonly reasons: readonly string[];
}
