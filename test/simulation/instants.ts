// Every promise with an exact instant.

import type { Instant } from "./instant.ts";
import { INSTANTS_OF_JOBS } from "./instants-of-jobs.ts";
import { INSTANTS_OF_KEYS } from "./instants-of-keys.ts";

export const INSTANTS: readonly Instant[] = [...INSTANTS_OF_JOBS, ...INSTANTS_OF_KEYS];
