// Retries or cancels many jobs: all that match a filter, or those that were picked.

import { changeAll, type Tally } from "../../contract/client/change-all.ts";
import type { BulkAction } from "../../contract/jobs/job-list.ts";
import type { LiveJob } from "../../contract/live.ts";
import { CHANGEABLE_STATUSES, USUAL_STATUSES } from "../../contract/words/values.ts";
import { api } from "../api.ts";
import { count, plural } from "../format.ts";
import { asJobFilter, type Filter } from "./job-filter.ts";
import { tell, tellError } from "./notice.ts";

export const WORDS = {
  retry: { verb: "Retry", done: "back in the queue", isDestructive: false },
  cancel: { verb: "Cancel", done: "cancelled", isDestructive: true },
} as const;

export const mayChange = (action: BulkAction, status: string | undefined): boolean =>
  status === undefined || CHANGEABLE_STATUSES[action].some((one) => one === status);

type Changed = Pick<LiveJob, "status" | "api" | "assigned_worker">;

/**
 * A client's request and a batch's line that have failed were answered, and are not tried again. A leased job is only
 * where its worker is lost.
 */
export const mayChangeJob = (action: BulkAction, job: Changed, lost: ReadonlySet<string>): boolean => {
  if (!mayChange(action, job.status)) return false;
  if (action !== "retry") return true;
  return job.status === "failed" ? job.api === null : lost.has(job.assigned_worker ?? "");
};

export interface FilteredCount {
  readonly filter: Filter;
  readonly total: number;
  /** How many of them the action may change. */
  readonly changeable: number;
}

export const countParts = (action: BulkAction, filter: Filter, signal: AbortSignal): Promise<FilteredCount[]> => {
  const statuses = filter.status === undefined ? USUAL_STATUSES[action] : [filter.status];
  return Promise.all(
    statuses.map(async (status) => {
      const part = { ...filter, status };
      const asked = { action, filter: asJobFilter(part), dry_run: true };
      const { matched, remaining } = await api.jobs.changeMany(asked, { signal });
      return { filter: part, total: matched, changeable: remaining };
    }),
  );
};

export const changePart = (
  action: BulkAction,
  { filter, total }: FilteredCount,
  isExact: boolean,
  tally: Tally,
  onStep: () => void,
): Promise<void> => {
  const expected = isExact ? { expected: total } : {};
  return changeAll(api.jobs, { action, filter: asJobFilter(filter), ...expected }, tally, {}, onStep);
};

const AT_ONCE = 5;

/** Changes the selected jobs, a few at a time. */
export const changePicked = async (action: BulkAction, ids: readonly string[]): Promise<Tally> => {
  const tally = { changed: 0, refused: 0 };
  const waiting = [...ids];
  let lastProblem: unknown = null;
  const work = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      try {
        await api.jobs[action](id);
        tally.changed += 1;
      } catch (problem) {
        tally.refused += 1;
        lastProblem = problem;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (tally.changed === 0 && lastProblem !== null) throw lastProblem;
  return tally;
};

export const tellOf = (action: BulkAction, { changed, refused }: Tally): void => {
  const { done } = WORDS[action];
  if (changed === 0 && refused > 0)
    tellError(new Error(`No job is ${done}: ${plural(refused, "was", "were")} refused.`));
  else
    tell(
      `${plural(changed, "job is", "jobs are")} ${done}${refused === 0 ? "." : `; ${count(refused)} could not be.`}`,
    );
};
