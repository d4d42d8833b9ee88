// Attempts that end before anybody reports what they spent. Some count all the same: streams and requests that a worker
// had started, as an estimate; and all that the coordinator ran itself, as unpriced, because only a crash keeps it from
// reporting.

import { inputTokensOf, tokensOf } from "../../contract/words/token-estimate.ts";
import { isEdgeInstance } from "../../domain/fleet/worker.ts";
import { isLeased, type Job, type JobPayload } from "../../domain/job/job.ts";
import { holds } from "../../domain/job/lease-fence.ts";
import { DAY_MS } from "../../domain/words/duration.ts";
import type { Store } from "../store/open.ts";
import type { Effects } from "./effects.ts";

/** How long a worker has to report what a cut attempt spent. */
export const ESTIMATE_AFTER_MS = 15_000;
/** How long after its end an attempt may still report its cost. */
export const UNREPORTED_KEPT_MS = DAY_MS;
/** A body that is stored outside is over 1 MiB, mostly media; its worker can count it. */
const HELD_INPUT_TOKENS = 1_000;

const isCounted = (job: Job): boolean =>
  job.startedAt !== null && (job.api !== null || job.stream || isEdgeInstance(job.assignedWorker ?? ""));

/** The tokens of its input, for an estimate. A request without one has its body outside. */
export const inputTokensFor = ({ api }: Pick<Job, "api">, { prompt, input }: JobPayload): number => {
  if (api !== null && input !== null) return inputTokensOf(input);
  return tokensOf(prompt.length) + (api === null ? inputTokensOf(input) : HELD_INPUT_TOKENS);
};

/** What it reads and writes of a turn. */
interface CountingTurn {
  readonly store: Pick<Store, "payloads" | "unreported">;
  readonly effects: Pick<Effects, "unmeasured">;
  readonly nowAt: number;
  due(at: number): void;
}

/** The cost of a lease that ends without a report of its holder, or is given back in its middle, may still be told. */
export const noteUnreported = (turn: CountingTurn, before: Job | null, after: Job): void => {
  if (before === null || !isLeased(before) || before.assignedWorker === null) return;
  if (holds(after, before.lease)) return;
  const isReleased = after.settledBy === "released" && before.startedAt !== null;
  if (after.settledBy === null || isReleased) putUnreported(turn, before, before.assignedWorker, isReleased);
};

/** An attempt with a begun answer, whose worker reports its end without what it spent. */
export const noteUncounted = (turn: CountingTurn, job: Job): void => {
  if (job.firstTokenAt !== null && job.stream && job.assignedWorker !== null)
    putUnreported(turn, job, job.assignedWorker, false);
};

/** A lease that was given back is not estimated: its worker says whether it spent anything. */
const putUnreported = (turn: CountingTurn, job: Job, worker: string, isReleased: boolean): void => {
  const { id: jobId, lease, workerProvider, model, keyId, fairnessKey } = job;
  const isEstimated = !isReleased && isCounted(job);
  const inputTokens = isEstimated ? inputTokensFor(job, turn.store.payloads.find(jobId)) : null;
  const ended = { jobId, lease, worker, provider: workerProvider ?? "", endedAt: turn.nowAt, model, keyId };
  turn.store.unreported.put({ ...ended, fairnessKey, inputTokens, saidChars: 0 });
  if (inputTokens !== null && job.stream) turn.effects.unmeasured.push({ instance: worker, jobId, lease });
  turn.due(turn.nowAt + (inputTokens === null ? UNREPORTED_KEPT_MS : ESTIMATE_AFTER_MS));
};
