// Makes a failing plan shorter: leaves out steps, many at once and then one by one, while it still fails.

import type { Plan, Step } from "./plan.ts";
import { runPlan, type Violation } from "./run.ts";

export interface Failure {
  readonly plan: Plan;
  readonly violation: Violation;
}

const MAX_RUNS = 400;

/** The text of a violation without its names, so that shrinking does not end at another violation. */
const kindOf = (what: string): string => what.split(":")[0]?.replaceAll(/[0-9a-f]{8}-[0-9a-f-]+|\d+/g, "#") ?? what;

export const shrink = async ({ plan, violation }: Failure): Promise<Failure> => {
  let best: Failure = { plan: { ...plan, steps: plan.steps.slice(0, violation.step + 1) }, violation };
  let runs = 0;
  for (let size = Math.ceil(best.plan.steps.length / 2); size >= 1; ) {
    let isShorter = false;
    for (let from = best.plan.steps.length - size; from >= 0 && runs < MAX_RUNS; from -= size) {
      const steps: Step[] = best.plan.steps.toSpliced(from, size);
      runs += 1;
      const found = await runPlan({ ...plan, steps });
      if (found === null || kindOf(found.what) !== kindOf(violation.what)) continue;
      best = { plan: { ...plan, steps: steps.slice(0, found.step + 1) }, violation: found };
      isShorter = true;
    }
    if (!isShorter || size > 1) size = Math.floor(size / 2);
  }
  return best;
};
