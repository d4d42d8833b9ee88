// Waits for a job at its tenant, in slices short enough for any proxy. Jobs that have left the object are read from
// history.

import { isFinal, type JobStatus } from "../../domain/job-status.ts";
import type { Refusal } from "../../domain/refusal.ts";
import type { Result } from "../../domain/result.ts";
import type { Followed } from "../../durable-objects/operations/front-door.ts";
import { findArchived } from "../history/jobs.ts";
import { withArchived } from "../history/with-archived.ts";
import type { AppContext } from "../http/auth.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { unwrap } from "../http/refused.ts";
import { callTenant, drainTenant, watchJob } from "../http/tenant.ts";

const SLICE_MS = 25_000;

export interface Stand {
  readonly status: JobStatus;
  readonly lease: number;
}

export const standOf = ({ status, lease }: Followed): Stand => ({ status, lease });

/** A job's current state, from the object or from history. */
export const followJob = (c: AppContext, token: TokenFacts, id: string): Promise<Result<Followed, Refusal>> =>
  withArchived(
    (archived) => callTenant(c.env, token, "follow", { id, archived }),
    async () => {
      await drainTenant(c.env, token);
      return findArchived(c.env.DB, token.tenant, id);
    },
  );

/** The next state that matches, or the final one. */
export const watchUntil = async (
  c: AppContext,
  token: TokenFacts,
  job: Pick<Followed, "id">,
  fits: (job: Followed) => boolean,
  seen: Stand | null = null,
): Promise<Followed> => {
  for (let stand = seen; ; ) {
    const watched = await watchJob(c.env, token, { id: job.id, seen: stand }, SLICE_MS);
    const isGone = !watched.ok && watched.error.code === "not_found";
    const now = unwrap(isGone ? await followJob(c, token, job.id) : watched);
    if (fits(now) || isFinal(now.status)) return now;
    stand = standOf(now);
  }
};
