// The same key and body within a day answers with the first answer; another body under the key is refused. What the
// request brings again (prompt and input) is not stored a second time.

import type { JobResource } from "../../contract/job.ts";
import type { JobPayload } from "../../domain/job.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { Turn } from "./turn.ts";

export interface Idempotency {
  readonly key: string;
  /** Digest of the validated body. */
  readonly bodyHash: string;
}

/** An answer that may be the first one over again. */
export type Replayable<T> = T & { readonly replayed?: boolean };

const KEPT_MS = 24 * 3_600_000;

type Answer = JobResource | { readonly job: JobResource };

export const withIdempotency = <T extends Answer>(
  turn: Turn,
  scope: "create" | "dispatch" | "ask",
  idempotency: Idempotency | null,
  asked: JobPayload,
  work: () => Result<T, Refusal>,
): Result<Replayable<T>, Refusal> => {
  if (idempotency === null) return work();
  const known = turn.store.idempotency.find(scope, idempotency.key, turn.nowAt);
  if (known !== null) {
    if (known.bodyHash !== idempotency.bodyHash) return err({ code: "idempotency_key_reused", key: idempotency.key });
    return ok({ ...restore<T>(known.answer, asked), replayed: true });
  }
  const answered = work();
  if (answered.ok) {
    const expiresAt = turn.nowAt + KEPT_MS;
    const first = { bodyHash: idempotency.bodyHash, answer: strip(answered.value) };
    turn.store.idempotency.put(scope, idempotency.key, first, expiresAt);
    turn.due(expiresAt);
  }
  return answered;
};

const OMITTED = { prompt: "", input: null };

const strip = (answer: Answer): string =>
  JSON.stringify("job" in answer ? { ...answer, job: { ...answer.job, ...OMITTED } } : { ...answer, ...OMITTED });

const restore = <T extends Answer>(stored: string, asked: JobPayload): T => {
  const answer = JSON.parse(stored) as Answer;
  const given = { prompt: asked.prompt, input: asked.input };
  return ("job" in answer ? { ...answer, job: { ...answer.job, ...given } } : { ...answer, ...given }) as T;
};
