// The reference model: what a tenant must look like after its inputs. Each job is a set of possible states (one, except
// where time or the router decides); an answer and each read of the API narrow the set, and an empty set is a
// contradiction. Assignments are not predicted but checked: the worker that got a job must have been allowed to.

import type { LeasedJob } from "../../../contract/fleet/worker.ts";
import type { JobResource } from "../../../contract/jobs/job.ts";
import {
  aged,
  assigned,
  isLeased,
  isOverdue,
  type JobState,
  type Outcome,
  overtaken,
  type RateLimit,
} from "./job-state.ts";
import type { WorkerState } from "./worker-state.ts";
import * as workers from "./worker-state.ts";

export interface Creation {
  readonly operation: "create" | "dispatch";
  readonly mayQueue: boolean;
  readonly body: Record<string, unknown> & { readonly prompt: string };
  readonly key: string | null;
  /** Its first answer; null while it was refused. */
  jobId: string | null;
}

export interface Limits {
  readonly maxAttempts: number;
  /** Of provider p; null if none is configured. */
  readonly rateLimit: (RateLimit & { readonly maxConcurrent: number | null }) | null;
}

export const DEFAULT_LIMITS: Limits = { maxAttempts: 5, rateLimit: null };
/** A chain of changes without a request: a lease ends, the job waits, another worker has it. */
const LONGEST_CHAIN = 4;

export class Contradiction extends Error {}

export class Model {
  readonly jobs = new Map<string, readonly JobState[]>();
  readonly workers = new Map<string, WorkerState>();
  readonly creations: Creation[] = [];
  /** Who was given a lease, by `job/lease`. */
  readonly holders = new Map<string, string>();
  /** Leases that a claim returned: another claim may leave them out. */
  readonly handed = new Set<string>();
  readonly backoffs = new Map<string, { readonly fromAt: number; readonly untilAt: number }>();
  limits = DEFAULT_LIMITS;
  level = 0;
  haltedJobs = 0;
  pausedWorkers = 0;

  /** The job as it was last seen. */
  known(id: string): JobState {
    const state = this.jobs.get(id)?.[0];
    if (state === undefined) throw new Contradiction(`nobody made job ${id}`);
    return state;
  }

  add(job: JobState): void {
    this.jobs.set(job.id, [job]);
  }

  limitOf(provider: string | null): RateLimit | null {
    return provider === "p" ? this.limits.rateLimit : null;
  }

  /** What every job may have become by itself until now. */
  expand(nowAt = Date.now()): void {
    for (const [id, states] of this.jobs) this.jobs.set(id, this.#closure(states, nowAt));
  }

  /** The sweep has run at this instant: what was overdue before it cannot be any more. */
  sweep(nowAt: number): void {
    for (const [provider, { untilAt }] of this.backoffs) if (untilAt <= nowAt) this.backoffs.delete(provider);
    for (const [id, states] of this.jobs) {
      const swept = states.map((job) =>
        job.status === "pending" && job.readyUntil <= nowAt ? { ...job, isQueued: true } : job,
      );
      this.jobs.set(
        id,
        swept.filter((job) => !isOverdue(job, nowAt)),
      );
    }
  }

  #closure(states: readonly JobState[], nowAt: number): JobState[] {
    const all = new Map(states.map((job) => [keyOf(job), job]));
    let latest = [...all.values()];
    for (let step = 0; step < LONGEST_CHAIN && latest.length > 0; step += 1) {
      const next = latest.flatMap((job) => this.#byItself(job, nowAt)).filter((job) => !all.has(keyOf(job)));
      for (const job of next) all.set(keyOf(job), job);
      latest = next;
    }
    return [...all.values()];
  }

  #byItself(job: JobState, nowAt: number): JobState[] {
    if (job.status !== "pending") return overtaken(job, this.limits.maxAttempts, nowAt);
    if (job.readyFrom > nowAt) return [];
    return [...this.workers.values()]
      .filter((worker) => this.mayTake(worker, job, nowAt))
      .map(({ instance, provider }) => assigned(job, instance, provider, nowAt));
  }

  /** Whether a worker may be given a job, ignoring its load. */
  mayTake(worker: WorkerState, job: Pick<JobState, "provider" | "tags">, nowAt: number): boolean {
    if (this.level > 0 || worker.pause !== null || worker.isHalted || !fits(worker, job)) return false;
    if (workers.isCutOff(worker) || workers.isSurelyOffline(worker, nowAt)) return false;
    return (this.backoffs.get(worker.provider)?.fromAt ?? 0) <= nowAt;
  }

  /** Whether it must be given one, if it has room. */
  mustTake(worker: WorkerState, job: Pick<JobState, "provider" | "tags">, nowAt: number): boolean {
    const isBackingOff = this.backoffs.has(worker.provider);
    return this.mayTake(worker, job, nowAt) && !workers.mayBeOffline(worker, nowAt) && !isBackingOff;
  }

  hasRoom(worker: WorkerState): boolean {
    const limit = worker.provider === "p" ? (this.limits.rateLimit?.maxConcurrent ?? null) : null;
    const isProviderOpen = limit === null || this.providerLoad(worker.provider) < limit;
    return this.loadOf(worker.instance) < worker.concurrency && isProviderOpen;
  }

  loadOf(instance: string): number {
    return [...this.jobs.values()].filter(([job]) => job !== undefined && isLeased(job) && job.worker === instance)
      .length;
  }

  /** By the provider that its workers name now. */
  providerLoad(provider: string): number {
    return [...this.workers.values()]
      .filter((worker) => worker.provider === provider)
      .reduce((sum, { instance }) => sum + this.loadOf(instance), 0);
  }

  /** Every state of a job with an outcome of that status changes to it. */
  answered(id: string, what: string, status: number, outcomes: (job: JobState) => readonly Outcome[]): void {
    const states = this.jobs.get(id) ?? [];
    const possible = states.flatMap((job) => outcomes(job));
    const next = possible.filter((one) => one.status === status).map((one) => one.next);
    if (next.length === 0) {
      const expected = [...new Set(possible.map((one) => one.status))].join(" or ");
      throw new Contradiction(`${what} got ${status}, not ${expected}; the job was ${states.map(shown).join(" or ")}`);
    }
    this.jobs.set(id, next);
  }

  /** Something happened to every job that it may happen to. */
  changeAll(change: (job: JobState) => JobState): void {
    for (const [id, states] of this.jobs) this.jobs.set(id, states.map(change));
  }

  /** The one state that matches what the API shows. */
  observe(view: JobResource | LeasedJob): void {
    const states = this.jobs.get(view.id) ?? [];
    const found = states.find((job) => isSame(job, view));
    if (found === undefined) {
      const seen = `${view.status} lease ${view.lease} attempts ${view.attempts} with ${view.assigned_worker}`;
      const result = `error ${view.error?.code ?? null} result ${JSON.stringify(view.result)}`;
      throw new Contradiction(
        `job ${view.id} is shown ${seen}, ${result}; it must be ${states.map(shown).join(" or ")}`,
      );
    }
    this.jobs.set(view.id, [
      {
        ...found,
        assignedAt: Date.parse(view.assigned_at ?? "") || found.assignedAt,
        keptUntil: Math.max(found.keptUntil, Date.parse(view.assigned_at ?? "") || found.assignedAt),
        startedAt: Date.parse(view.started_at ?? "") || found.startedAt,
      },
    ]);
    if (isLeased(found) && found.worker !== null) this.handOut(view.id, found.lease, found.worker);
  }

  /** A lease is given to one worker, for ever. */
  handOut(id: string, lease: number, instance: string): void {
    const holder = this.holders.get(`${id}/${lease}`);
    if (holder !== undefined && holder !== instance)
      throw new Contradiction(`lease ${lease} of job ${id} was handed to ${holder}, and to ${instance}`);
    this.holders.set(`${id}/${lease}`, instance);
  }

  /** The object lost its memory. */
  forget(areSocketsKept: boolean): void {
    for (const [instance, worker] of this.workers) {
      this.workers.set(instance, workers.remembered(worker, areSocketsKept));
    }
  }

  age(ms: number): void {
    for (const [id, states] of this.jobs)
      this.jobs.set(
        id,
        states.map((job) => aged(job, ms)),
      );
    for (const [instance, worker] of this.workers) this.workers.set(instance, workers.aged(worker, ms));
    for (const [provider, { fromAt, untilAt }] of this.backoffs) {
      this.backoffs.set(provider, { fromAt: fromAt - ms, untilAt: untilAt - ms });
    }
  }
}

const fits = (worker: WorkerState, job: Pick<JobState, "provider" | "tags">): boolean =>
  (job.provider === null || worker.provider === job.provider) && job.tags.every((tag) => worker.tags.includes(tag));

const keyOf = (job: JobState): string =>
  [job.status, job.lease, job.attempts, job.worker, job.error, job.settledBy, job.readyUntil].join("|");

const shown = ({ status, lease, attempts, worker, error, settledBy }: JobState): string =>
  `${status} lease ${lease} attempts ${attempts} with ${worker} error ${error} settled by ${settledBy}`;

const isSame = (job: JobState, view: JobResource | LeasedJob): boolean =>
  job.status === view.status &&
  job.lease === view.lease &&
  job.attempts === view.attempts &&
  job.worker === view.assigned_worker &&
  job.error === (view.error?.code ?? null) &&
  job.prompt === view.prompt &&
  job.tags.join() === view.tags.join() &&
  JSON.stringify(job.result) === JSON.stringify(view.result);
