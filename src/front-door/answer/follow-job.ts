// Waits for a job at its tenant, in slices short enough for any proxy. Jobs that have left the object are read from
// history.

import { isFinal } from "../../../domain/words/job-status.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import type { Result } from "../../../domain/words/result.ts";
import type { Followed } from "../../../durable-objects/operations/front-door/follow.ts";
import { historyOf } from "../../history/databases.ts";
import { findArchived } from "../../history/jobs.ts";
import { withArchived } from "../../history/with-archived.ts";
import type { AppContext } from "../../http/auth.ts";
import type { TokenFacts } from "../../http/key-format.ts";
import { unwrap } from "../../http/refused.ts";
import { callTenant, drainTenant, watchJob } from "../../tenant/tenant.ts";

const SLICE_MS = 25_000;

/** A job's current state, from the object or from history. */
export const followJob = (c: AppContext, token: TokenFacts, id: string): Promise<Result<Followed, Refusal>> =>
  withArchived(
    c,
    token.tenant,
    (archived) => callTenant(c.env, token, "follow", { id, archived }),
    async () => {
      await drainTenant(c.env, token);
      return findArchived(historyOf(c.env, token), id);
    },
  );

/**
 * The job with its next status or attempt; a start counts, because readers of a job's stream get it. Rejects when `left`
 * fires: the job may wait for days.
 */
export const watchMove = (
  c: AppContext,
  token: TokenFacts,
  from: Followed,
  left: AbortSignal | null = null,
): Promise<Followed> =>
  watchUntil(c, token, from, ({ status, lease }) => status !== from.status || lease !== from.lease, left);

/** The job when it is final; `onMove` gets each state before. */
export const watchEnd = (
  c: AppContext,
  token: TokenFacts,
  from: Followed,
  onMove: (job: Followed) => void,
): Promise<Followed> =>
  watchUntil(c, token, from, (job) => {
    onMove(job);
    return isFinal(job.status);
  });

const watchUntil = async (
  c: AppContext,
  token: TokenFacts,
  from: Followed,
  fits: (job: Followed) => boolean,
  left: AbortSignal | null = null,
): Promise<Followed> => {
  for (let job = from; ; ) {
    left?.throwIfAborted();
    const seen = { status: job.status, lease: job.lease };
    const watching = watchJob(c, token, { id: job.id, seen }, SLICE_MS);
    const watched = await (left === null ? watching : unlessAborted(watching, left));
    const isGone = !watched.ok && watched.error.code === "not_found";
    job = unwrap(isGone ? await followJob(c, token, job.id) : watched);
    if (fits(job)) return job;
  }
};

const unlessAborted = async <T>(work: Promise<T>, signal: AbortSignal): Promise<T> => {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort);
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener("abort", abort));
};
