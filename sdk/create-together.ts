// Jobs that are created at the same time travel in one request, so that a program with many calls under way pays for
// few. Each call has its own answer: a request creates all of its jobs or none, and after a refusal each job is asked
// for by itself. A call alone is sent at once.

import { ApiProblem } from "../contract/client/problem.ts";
import type { Client } from "../contract/client.ts";
import type { JobResource, NewJobRequest } from "../contract/jobs/job.ts";
import { MAX_BATCH_JOBS } from "../contract/words/values.ts";

/** The longest that a call waits for others while a request is under way. */
const TOGETHER_WITHIN_MS = 2;
/** Below the service's limit on a body; a longer one is refused, and each job is asked for by itself. */
const MAX_CHARS = 700_000;

type Jobs = Pick<Client["jobs"], "create" | "createMany">;

interface CreateCall {
  readonly job: NewJobRequest;
  readonly chars: number;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (job: JobResource) => void;
  readonly reject: (error: unknown) => void;
  readonly onAbort: () => void;
}

export class CreateTogether {
  readonly #jobs: Jobs;
  #waiting: CreateCall[] = [];
  #underWay = 0;
  #isDue = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(jobs: Jobs) {
    this.#jobs = jobs;
  }

  readonly create: Client["jobs"]["create"] = (job, options = {}) => {
    const { signal, idempotencyKey } = options;
    // A key of the caller's own belongs to a request of its own.
    if (idempotencyKey !== undefined || signal?.aborted === true) return this.#jobs.create(job, options);
    return new Promise((resolve, reject) => {
      const onAbort = () => reject(signal?.reason);
      this.#waiting.push({ job, chars: JSON.stringify(job).length, signal, resolve, reject, onAbort });
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#sendSoon();
    });
  };

  #sendSoon(): void {
    if (this.#underWay > 0) {
      this.#timer ??= setTimeout(() => this.#sendAll(), TOGETHER_WITHIN_MS);
    } else if (!this.#isDue) {
      this.#isDue = true;
      queueMicrotask(() => this.#sendAll());
    }
  }

  #sendAll(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isDue = false;
    this.#waiting = this.#waiting.filter(({ signal }) => signal?.aborted !== true);
    while (this.#waiting.length > 0) void this.#send(this.#waiting.splice(0, countFitting(this.#waiting)));
  }

  async #send(calls: readonly CreateCall[]): Promise<void> {
    this.#underWay += 1;
    const [first] = calls;
    try {
      if (first !== undefined && calls.length === 1) await this.#sendAlone(first);
      else await this.#sendTogether(calls);
    } finally {
      this.#underWay -= 1;
      // A signal may live as long as the program.
      for (const { signal, onAbort } of calls) signal?.removeEventListener("abort", onAbort);
      // What their callers ask for next goes with what waits.
      queueMicrotask(() => this.#sendAll());
    }
  }

  async #sendTogether(calls: readonly CreateCall[]): Promise<void> {
    try {
      const { jobs } = await this.#jobs.createMany(calls.map(({ job }) => job));
      for (const [index, { resolve }] of calls.entries()) resolve(jobs[index] as JobResource);
    } catch (error) {
      if (isRefusal(error)) await Promise.all(calls.map((one) => this.#sendAlone(one)));
      else for (const { reject } of calls) reject(error);
    }
  }

  async #sendAlone({ job, signal, resolve, reject }: CreateCall): Promise<void> {
    await this.#jobs.create(job, { signal }).then(resolve, reject);
  }
}

/** Nothing was created: one of the jobs may not be, or not all of them now. */
const isRefusal = (error: unknown): boolean => error instanceof ApiProblem && error.status >= 400 && error.status < 500;

/** How many of the first go in one request: one at least. */
const countFitting = (waiting: readonly CreateCall[]): number => {
  let chars = 0;
  const end = waiting.findIndex((one, index) => {
    chars += one.chars;
    return index > 0 && (index === MAX_BATCH_JOBS || chars > MAX_CHARS);
  });
  return end < 0 ? waiting.length : end;
};
