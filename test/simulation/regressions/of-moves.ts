// Runs that once found a defect of a tenant's move.

import { type Regression, step } from "./regression.ts";

export const REGRESSIONS_OF_MOVES: readonly Regression[] = [
  {
    found: "a move that was cancelled before history had everything took back what had been counted",
    plan: {
      seed: 80000773,
      steps: [
        step("make a batch", 0.19095194, 0.04415353, 0.74228675, 0.29991311, 0.91773286),
        step("report presence", 0.4472039, 0.44805248, 0.22616438, 0.27517105, 0.83332499),
        step("complete", 0.3, 0.40809646, 0.10721085, 0.43698769, 0.09136113),
        step("move elsewhere", 0.00768617, 0.89611326, 0.72053777, 0.55097534, 0.38574752),
      ],
    },
  },
];
