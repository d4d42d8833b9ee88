// Every run that once found a defect: each must pass for ever.

import type { Regression } from "./regression.ts";
import { REGRESSIONS_OF_THE_OBJECT } from "./regressions-of-the-object.ts";
import { REGRESSIONS_OF_THE_SIMULATION } from "./regressions-of-the-simulation.ts";

export const REGRESSIONS: readonly Regression[] = [...REGRESSIONS_OF_THE_OBJECT, ...REGRESSIONS_OF_THE_SIMULATION];
