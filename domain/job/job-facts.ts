// What some jobs have beside what every job has: those of the front door, of batches, and with several models.

import type { Tier } from "../words/requirements.ts";

/** A model, and where it may run. */
export interface ModelChoice {
  readonly model: string;
  readonly provider: string | null;
  readonly tags: readonly string[];
  readonly tier: Tier | null;
}

/** What a front-door request has beyond the job itself. */
export interface FrontDoorFacts {
  /** Names the conversation; null if there is none. */
  readonly session: string | null;
  /** Headers of the request for the runtime. */
  readonly headers: Readonly<Record<string, string>>;
  /** How long it waits in the queue for a worker, if a client waits for it. */
  readonly queueMs: number;
  /** Its client is not waiting: it asks for the answer later, and the job goes on without it. */
  readonly isBackground?: true;
  /** Its body is too large for the tenant's database: the worker fetches it. */
  readonly isBodyHeld: boolean;
  /** The size of a body that is stored outside. */
  readonly heldBytes?: number;
  /** Whether its worker had the conversation's previous turn; null until it was assigned. */
  readonly isSessionHit: boolean | null;
  /** How long its client should wait before it tries again, if the provider says so. */
  readonly retryAfterMs?: number;
  /** What is asked next if this model cannot answer, in order. */
  readonly choices?: readonly ModelChoice[];
  /** The hash of the secret that it came with. */
  readonly openedWith?: string;
  /** Under which its answer is given again, unless its client leaves before. */
  readonly idempotencyKey?: string;
}

/** Which line of its batch a job is. */
export interface BatchPlace {
  /** The line in the batch's file, from 1. */
  readonly line: number;
  readonly customId: string;
  /** As the line names it. */
  readonly model: string;
  /** Until then every other job comes first; its order key. */
  readonly yieldsUntilAt: number;
  /** What is asked next if its model cannot answer, in order. */
  readonly choices?: readonly ModelChoice[];
}

/** A model that was asked and could not answer. */
export interface Tried {
  readonly model: string | null;
  readonly provider: string | null;
  readonly code: string;
}
