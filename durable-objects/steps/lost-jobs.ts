// Jobs whose worker is gone, or no longer has them.

import { maxAttemptsOf } from "../../domain/config.ts";
import type { Job } from "../../domain/job/job.ts";
import { loseJob } from "../../domain/job/lease.ts";
import type { Turn } from "../turn/turn.ts";

/** Back to the queue, or failed after its last attempt. */
export const recordLost = (turn: Turn, job: Job): void =>
  turn.record(job, loseJob(job, maxAttemptsOf(turn.memory.config, job), turn.nowAt));
