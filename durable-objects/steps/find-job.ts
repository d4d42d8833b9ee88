// Finds the job of a command: the object's own record, else the record that the edge or the socket sent from history.
//
// A job that comes back stays in the object until FINAL_GRACE_MS after its end. So history's record is the latest if it
// was read within that time after the object said that it has no such job; a later one may be out of date and is
// refused. What it cost may have been told since.

import type { Brought } from "../../domain/job/archived-job.ts";
import type { Job } from "../../domain/job/job.ts";
import { notFound, type Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import { FINAL_GRACE_MS } from "../turn/deadline.ts";
import type { Turn } from "../turn/turn.ts";

const BROUGHT_WITHIN_MS = FINAL_GRACE_MS / 2;

export interface JobCommand {
  readonly id: string;
  readonly archived?: Brought | undefined;
}

/** What came of a job that the object does not have. */
export const broughtOf = (turn: Turn, { id, archived }: JobCommand): Brought | undefined =>
  archived !== undefined && turn.store.jobs.find(id) === null ? archived : undefined;

export const findJob = (turn: Turn, { id, archived }: JobCommand): Result<Job, Refusal> => {
  const own = turn.store.jobs.find(id);
  if (own !== null) return ok(own);
  const ageMs = archived === undefined ? null : turn.nowAt - archived.absentAt;
  const isCurrent = ageMs !== null && ageMs >= 0 && ageMs < BROUGHT_WITHIN_MS;
  if (archived !== undefined && isCurrent) return ok(turn.memory.outbox.lateCosts.shownOn(archived.job));
  return err({ ...notFound("job", id), absentAt: turn.nowAt });
};
