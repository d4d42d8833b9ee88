// A job that has left the tenant's object, as history gives it back for a command or a report on it.

import type { Json } from "../words/json.ts";
import type { Job } from "./job.ts";

export interface Archived {
  readonly job: Job;
  readonly prompt: string;
  readonly input: Json;
  readonly result: Json;
  /** Retention has deleted its prompt, input and result. */
  readonly isWithoutTexts?: boolean;
}

/** Includes the instant at which the object said that it has no such job; a later record may have replaced it. */
export interface Brought extends Archived {
  readonly absentAt: number;
}

/** How often history is read for a job that the object does not have; one read is enough unless the edge stalls. */
export const MAX_HISTORY_LOOKS = 3;
