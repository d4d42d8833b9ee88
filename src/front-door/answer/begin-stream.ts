// Which stream a client gets: follows its job from attempt to attempt, and reads one attempt at a time, until one sends
// an event or the job ends. An attempt's stream that is not taken is let go, so that nothing is read by nobody. Uses no
// network: following and reading are arguments.

import { within } from "../../../contract/text/within.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import { type Followed, isSameStand } from "../../../durable-objects/operations/front-door/follow.ts";

/** The events of one attempt. */
export interface Begun {
  readonly kind: "events";
  readonly job: Followed;
  readonly body: ReadableStream<Uint8Array>;
  /** The job when the attempt is over; rejects if that cannot be known. */
  readonly over: Promise<Followed>;
}

/** What the client gets first. */
export type Beginning = Begun | { readonly kind: "final"; readonly job: Followed };

export interface BeginTools {
  /** The job after a while, or when it has changed. */
  readonly watch: (job: Followed) => Promise<Followed>;
  /** The events of one attempt from the first one on; null if it ended without any. */
  readonly attach: (job: Followed) => Promise<ReadableStream<Uint8Array> | null>;
  /** Time that a stream may arrive after its job's report. */
  readonly lateMs: number;
}

/** A start is no change to a client: the attempt that it reads is the same. */
const untilMoved = async (watch: BeginTools["watch"], from: Followed): Promise<Followed> => {
  for (let job = from; ; ) {
    job = await watch(job);
    if (!isSameStand(job, from)) return job;
  }
};

/** Whether an ended job's stream may still arrive: it has begun, or the job completed without a stored file. */
const hasStream = ({ status, hasFirstToken, answerFile }: Followed): boolean =>
  isFinal(status) && (hasFirstToken || (status === "completed" && answerFile === null));

export const beginStream = async (from: Followed, { watch, attach, lateMs }: BeginTools): Promise<Beginning> => {
  for (let job = from; ; ) {
    if (isFinal(job.status)) return { kind: "final", job };
    const hasWorker = job.worker !== null && job.status !== "pending";
    // First: its events may come before the tenant has answered.
    const attached = hasWorker ? attach(job) : null;
    const moved = untilMoved(watch, job);
    if (attached === null) {
      job = await moved;
      continue;
    }
    const letGo = (): void => void attached.then((body) => body?.cancel()).catch(() => undefined);
    const first = await Promise.race([attached, moved.then(() => null)]).catch((error: unknown) => {
      letGo();
      throw error;
    });
    if (first !== null) {
      // Few wait for it.
      moved.catch(() => undefined);
      return { kind: "events", job, body: first, over: moved };
    }
    const now = await moved;
    const late = hasStream(now) ? await within(attached, lateMs) : null;
    if (late !== null) return { kind: "events", job: now, body: late, over: moved };
    letGo();
    job = now;
  }
};
