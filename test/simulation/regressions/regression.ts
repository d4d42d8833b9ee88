// A run that once found a defect of the product, and the words it is written in.

import type { Plan, Step, StepKind } from "../plan.ts";

export interface Regression {
  /** The defect that it found. */
  readonly found: string;
  readonly plan: Plan;
}

export const step = (kind: StepKind, ...chances: number[]): Step => {
  const [a = 0, b = 0.5, c = 0, d = 0, e = 0] = chances;
  return { kind, chances: [a, b, c, d, e], isJoined: false };
};

/** The next step shares its commit. */
export const joined = (kind: StepKind, ...chances: number[]): Step => ({ ...step(kind, ...chances), isJoined: true });
