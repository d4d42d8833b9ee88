// The jobs that this worker holds a lease of. A job is held from its assignment until its last report is acknowledged.
// Every presence report lists the held jobs, so the coordinator never takes a job for lost while its result is on the
// way.
//
// waiting ──slot free──▶ running ──outcome──▶ reporting ──ack──▶ gone
//    └──drain: released──────┼── halted ──▶ stopping ──run has ended──▶ gone
//                            └── reader gone, run has ended ──▶ abandoned ──halted──▶ gone

import type { LeasedJob } from "../contract/fleet/worker.ts";
import type { Progress } from "./calls/runtime.ts";

const STATES = ["waiting", "running", "reporting", "stopping", "abandoned"] as const;
type HeldState = (typeof STATES)[number];

export type HeldJob = {
  job: LeasedJob;
  configEtag: string | undefined;
  /** Changed by `become`. */
  readonly state: HeldState;
  halt: AbortController;
  progress: Progress | null;
  progressSentAtMs: number;
  /** The latest progress is reported soon. */
  isProgressDue: boolean;
};

const MAX_REMEMBERED_LEASES = 10_000;

export class HeldJobs {
  readonly #held = new Map<string, HeldJob>();
  /** The same jobs by state, so that a worker with many places visits only those that it asks for. */
  readonly #in = Object.fromEntries(STATES.map((state) => [state, new Set<HeldJob>()])) as Record<
    HeldState,
    Set<HeldJob>
  >;
  /** The last finished lease of each job, so that a stale answer naming it starts nothing. */
  readonly #settledLeases = new Map<string, number>();
  /**
   * Stands before the oldest of them: a new iterator would pass all entries that were deleted since the map last grew.
   * Until the map is full it keeps alive what came before, a few numbers; then each job that comes moves it on.
   */
  readonly #oldestSettled = this.#settledLeases.keys();

  get size(): number {
    return this.#held.size;
  }

  get ids(): string[] {
    return [...this.#held.keys()];
  }

  /** A snapshot: later changes do not affect it. */
  all(state?: HeldState): HeldJob[] {
    return [...(state === undefined ? this.#held.values() : this.#in[state])];
  }

  /** The one that has waited longest. */
  get firstWaiting(): HeldJob | undefined {
    return this.#in.waiting.values().next().value;
  }

  find(jobId: string): HeldJob | undefined {
    return this.#held.get(jobId);
  }

  isCurrent(held: HeldJob): boolean {
    return this.#held.get(held.job.id) === held;
  }

  isKnown({ id, lease }: LeasedJob): boolean {
    return lease <= (this.#held.get(id)?.job.lease ?? this.#settledLeases.get(id) ?? -1);
  }

  hold(job: LeasedJob, configEtag?: string): HeldJob {
    const held: HeldJob = {
      job,
      configEtag,
      state: "waiting",
      halt: new AbortController(),
      progress: null,
      progressSentAtMs: 0,
      isProgressDue: false,
    };
    this.#forget(job.id);
    this.#held.set(job.id, held);
    this.#in.waiting.add(held);
    return held;
  }

  become(held: HeldJob, state: HeldState): void {
    if (this.#in[held.state].delete(held)) this.#in[state].add(held);
    Object.assign(held, { state });
  }

  /** Jobs whose run occupies the runtime, including runs that are being stopped. */
  get runningCount(): number {
    return this.#in.running.size + this.#in.stopping.size;
  }

  /** Jobs that take a slot; waiting jobs count. */
  get takenCount(): number {
    return this.#in.waiting.size + this.runningCount;
  }

  settle({ job: { id, lease } }: HeldJob): void {
    this.#forget(id);
    this.#settledLeases.delete(id);
    this.#settledLeases.set(id, lease);
    if (this.#settledLeases.size <= MAX_REMEMBERED_LEASES) return;
    const oldest = this.#oldestSettled.next().value;
    if (oldest !== undefined) this.#settledLeases.delete(oldest);
  }

  #forget(id: string): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    this.#held.delete(id);
    this.#in[held.state].delete(held);
  }
}
