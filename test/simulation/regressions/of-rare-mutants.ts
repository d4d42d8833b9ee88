// Runs that reach a place which a rare mutant breaks, and which few seeds reach by themselves.

import { type Regression, step } from "./regression.ts";

export const RUNS_OF_RARE_MUTANTS: readonly Regression[] = [
  {
    found: "the rare mutants: half of a key's requests were free, and all were refused after the clock was set back",
    plan: {
      seed: 1,
      steps: [
        step("configure", 0.8),
        step("ask often", 0.99, 0),
        step("set the clock back", 0.9),
        step("ask often", 0.99, 0),
        step("let time pass", 0.7),
        step("ask often", 0.1, 0),
      ],
    },
  },
  {
    found: "the rare mutant: a move that was cancelled ended an operator's halt",
    plan: { seed: 1, steps: [step("throw the killswitch", 0.3), step("leave and stay", 0.1)] },
  },
  {
    found: "the rare mutant: a storage that had room once had it for ever",
    plan: {
      seed: 1,
      steps: [
        step("fill the storage", 0.9),
        step("let time pass", 0.6),
        step("create"),
        step("fill the storage", 0.1),
        step("let time pass", 0.6),
        step("create"),
      ],
    },
  },
];
