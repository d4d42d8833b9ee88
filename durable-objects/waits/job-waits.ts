// Answers that wait for a job: until it has a worker, is final, or differs from what the caller has seen. A waiting
// call has no state that matters: if it is lost, the caller asks again.

import type { Job } from "../../domain/job/job.ts";
import { isFinal, type JobStatus } from "../../domain/words/job-status.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import { ok, type Result } from "../../domain/words/result.ts";
import type { AnswerOf, OperationName, RequestOf } from "../api.ts";
import { counted } from "../calls/key-rates.ts";
import type { Asking, DoorAnswer } from "../operations/front-door/ask.ts";
import { type AskWait, type Followed, isReached, isSameStand } from "../operations/front-door/follow.ts";
import type { Credential } from "../steps/holders.ts";
import type { Waiters } from "./waiters.ts";

/** After this the edge watches the job instead. */
const MAX_ASK_MS = 20_000;

export interface JobTools {
  readonly call: <Name extends OperationName>(
    credential: Credential,
    name: Name,
    request: RequestOf<Name>,
  ) => Promise<Result<AnswerOf<Name>, Refusal>>;
  readonly findJob: (id: string) => Job | null;
  readonly isValid: (credential: Credential) => boolean;
  readonly waiters: Waiters;
}

interface WatchRequest {
  readonly id: string;
  readonly seen: { readonly status: JobStatus; readonly lease: number } | null;
}

export class JobWaits {
  readonly #tools: JobTools;

  constructor(tools: JobTools) {
    this.#tools = tools;
  }

  /**
   * Ends when the job is final or the time has passed. The answer is without the job, which each caller then reads:
   * else a thousand callers would get a job of megabytes at once. Their keys are checked again when a key ends.
   */
  async end(credential: Credential, id: string, waitMs: number, caller?: string): Promise<Result<null, Refusal>> {
    const { call, isValid } = this.#tools;
    const first = await call(credential, "getJob", { id });
    if (!first.ok) return first;
    if (!isFinal(first.value.status))
      await this.#until("job", id, waitMs, (job) => isFinal(job.status) || !isValid(credential), caller);
    return ok(null);
  }

  /** The job of a request, when it has reached the requested state or the time has passed. */
  async ask(credential: Credential, request: Asking, wait: AskWait): Promise<Result<DoorAnswer, Refusal>> {
    const { call } = this.#tools;
    const asked = await call(credential, "ask", request);
    if (!asked.ok || isReached(asked.value.job, wait.until)) return asked;
    const waitMs = Math.min(MAX_ASK_MS, asked.value.settings.commitAfterMs * wait.commits);
    await this.#until("watch", asked.value.job.id, waitMs, (job) => isReached(job, wait.until));
    const job = await call(counted(credential), "follow", { id: asked.value.job.id });
    if (job.ok) return ok({ ...asked.value, job: job.value });
    // A request repeated after its job has left: the edge finds it in history.
    return job.error.code === "not_found" ? asked : job;
  }

  /** A job's state, as soon as it differs from what the caller has seen or the time has passed. */
  async watch(
    credential: Credential,
    { id, seen }: WatchRequest,
    waitMs: number,
    caller?: string,
  ): Promise<Result<Followed, Refusal>> {
    const { call, isValid } = this.#tools;
    const first = await call(credential, "follow", { id });
    if (!first.ok || seen === null || !isSameStand(first.value, seen)) return first;
    await this.#until("watch", id, waitMs, (job) => !isSameStand(job, seen) || !isValid(credential), caller);
    return call(counted(credential), "follow", { id });
  }

  async #until(
    kind: "job" | "watch",
    id: string,
    waitMs: number,
    isReady: (job: Job) => boolean,
    caller?: string,
  ): Promise<void> {
    const isOver = (): boolean => {
      const job = this.#tools.findJob(id);
      return job === null || isReady(job);
    };
    await this.#tools.waiters.until(`${kind} ${id}`, waitMs, isOver, caller);
  }
}
