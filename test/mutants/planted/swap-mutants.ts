// Defects in how models are swapped.

import { type Mutant, mutant } from "./mutant.ts";

export const SWAP_MUTANTS: readonly Mutant[] = [
  mutant(
    "a model that is not loaded waits for ever",
    "domain/routing/swapping.ts",
    "if (leftMs <= 0) return null;",
    "if (leftMs <= Number.NEGATIVE_INFINITY) return null;",
  ),
  mutant(
    "every job swaps the model at once",
    "domain/routing/swapping.ts",
    "machine.loaded.count >= machine.maxLoaded &&",
    "machine.loaded.count > machine.maxLoaded &&",
  ),
  mutant(
    "a higher priority waits for the loaded model's jobs, too",
    "domain/routing/swapping.ts",
    "> highest(groups, -1)) return null;",
    "> highest(groups, PRIORITIES.length)) return null;",
  ),
];
