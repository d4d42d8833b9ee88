// Every run that once found a defect: each must pass for ever.

import { REGRESSIONS_OF_BATCHES } from "./of-batches.ts";
import { REGRESSIONS_OF_MONEY } from "./of-money.ts";
import { REGRESSIONS_OF_MOVES } from "./of-moves.ts";
import { RUNS_OF_RARE_MUTANTS } from "./of-rare-mutants.ts";
import { REGRESSIONS_OF_THE_JOURNAL } from "./of-the-journal.ts";
import { REGRESSIONS_OF_THE_OBJECT } from "./of-the-object.ts";
import type { Regression } from "./regression.ts";

export const REGRESSIONS: readonly Regression[] = [
  ...REGRESSIONS_OF_THE_OBJECT,
  ...REGRESSIONS_OF_BATCHES,
  ...REGRESSIONS_OF_MONEY,
  ...REGRESSIONS_OF_MOVES,
  ...REGRESSIONS_OF_THE_JOURNAL,
  ...RUNS_OF_RARE_MUTANTS,
];
