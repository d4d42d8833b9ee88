// One change of all jobs of a filter, carried through: a call changes a portion of them.

import type { BulkRequest } from "../jobs/job-list.ts";
import type { jobVerbs } from "./jobs.ts";
import type { CallOptions } from "./transport.ts";

/** What has come of the jobs so far. */
export interface Tally {
  changed: number;
  refused: number;
}

/** Goes on until no job remains or none changes, and adds to the tally. The first call alone tells what is expected. */
export const changeAll = async (
  jobs: Pick<ReturnType<typeof jobVerbs>, "changeMany">,
  { expected, ...request }: BulkRequest,
  tally: Tally,
  options?: CallOptions,
  onStep?: () => void,
): Promise<void> => {
  const refusedBefore = tally.refused;
  for (let told = expected === undefined ? {} : { expected }; ; told = {}) {
    const report = await jobs.changeMany({ ...request, ...told }, options);
    tally.changed += report.changed;
    // A refused job is met again by the next step.
    tally.refused = refusedBefore + Object.values(report.refused).reduce((sum, one) => sum + one, 0);
    onStep?.();
    if (report.remaining === 0 || report.changed === 0) return;
  }
};
