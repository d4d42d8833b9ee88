// What a job's second readers follow, beside the client that asked for it: each state up to the final one, and the
// chunks of each attempt as its worker's relay numbers them. They miss nothing by coming late, and their leaving cancels
// nothing.

import { MAX_READERS_OF_A_STREAM } from "../../../contract/data-line.ts";
import { TOO_MANY_REQUESTS } from "../../../contract/words/http-status.ts";
import { isFinal, isLeasedStatus } from "../../../domain/words/job-status.ts";
import type { Followed } from "../../../durable-objects/operations/front-door/follow.ts";
import { KEEP_ALIVE } from "../../../durable-objects/relay/stream-reader.ts";
import type { AppContext } from "../../http/auth.ts";
import type { TokenFacts } from "../../http/key-format.ts";
import { Refused } from "../../http/refused.ts";
import { holderOf, readRelay } from "../../tenant/relay.ts";
import { watchMove } from "./follow-job.ts";
import type { WrittenBody } from "./written-body.ts";

const KEEP_ALIVE_MS = 5_000;

/** Where a reader was: the last chunk that it has of an attempt. */
export interface ChunkPlace {
  readonly lease: number;
  readonly after: number;
}

/** Its worker may send chunks; of any other job readers get only the states. */
export const isStreaming = ({ stream, status }: Followed): boolean => stream && isLeasedStatus(status);

/** The chunks of the current attempt, after `place` if that belongs to the same attempt. */
export const chunksOf = (
  c: AppContext,
  token: TokenFacts,
  job: Followed,
  place: ChunkPlace | null,
): Promise<Response> => {
  const after = place?.lease === job.lease ? place.after : 0;
  const wishes = { api: job.api, isNumbered: true, stripsUsage: false, keepAliveMs: KEEP_ALIVE_MS, after };
  return readRelay(c.env, token, job.worker ?? "", {
    jobId: job.id,
    lease: job.lease,
    holder: holderOf(token),
    wishes,
  });
};

/** A reader that comes back after its job's end: what it has not seen is kept for a while. */
const isResumed = ({ stream, status }: Followed, place: ChunkPlace | null): boolean =>
  place !== null && stream && isFinal(status);

/** Before the answer begins, so that a reader too many can be refused; null while the job does not stream. */
export const firstChunks = async (
  c: AppContext,
  token: TokenFacts,
  job: Followed,
  place: ChunkPlace | null,
): Promise<Response | null> => {
  if (!isStreaming(job) && !isResumed(job, place)) return null;
  const first = await chunksOf(c, token, job, place);
  if (first.status === TOO_MANY_REQUESTS)
    throw new Refused({ code: "too_many_readers", limit: MAX_READERS_OF_A_STREAM });
  return first;
};

/** Writes comments while it runs. */
export const keptAlive = <T>(body: WrittenBody, work: Promise<T>): Promise<T> =>
  work.finally(body.writeEvery(KEEP_ALIVE_MS, KEEP_ALIVE));

/** The job in each state from this one to the final one, as long as its reader is there. */
export async function* statesOf(
  c: AppContext,
  token: TokenFacts,
  from: Followed,
  body: WrittenBody,
): AsyncGenerator<Followed> {
  const { signal } = c.req.raw;
  let job = from;
  for (; !isFinal(job.status); job = await keptAlive(body, watchMove(c, token, job, signal))) yield job;
  yield job;
}
