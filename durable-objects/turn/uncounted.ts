// Which attempts count although nobody reports what they spent: streams and requests that a worker had started, as an
// estimate; and all that the coordinator ran itself, as unpriced, because only a crash keeps it from reporting.

import { inputTokensOf, tokensOf } from "../../contract/words/token-estimate.ts";
import { isEdgeInstance } from "../../domain/fleet/worker.ts";
import type { Job, JobPayload } from "../../domain/job/job.ts";

/** How long a worker has to report what a cut attempt spent. */
export const ESTIMATE_AFTER_MS = 15_000;
/** A body that is stored outside is over 1 MiB, mostly media; its worker can count it. */
const HELD_INPUT_TOKENS = 1_000;

export const isCounted = (job: Job): boolean =>
  job.startedAt !== null && (job.api !== null || job.stream || isEdgeInstance(job.assignedWorker ?? ""));

/** The tokens of its input, for an estimate. */
export const inputTokensFor = (job: Job, { prompt, input }: JobPayload): number => {
  if (job.api === null) return tokensOf(prompt.length) + inputTokensOf(input);
  return job.frontDoor?.isBodyHeld === true ? tokensOf(prompt.length) + HELD_INPUT_TOKENS : inputTokensOf(input);
};
