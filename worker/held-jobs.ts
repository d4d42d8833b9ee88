// The jobs that this worker holds a lease of. A job is held from its assignment until its last report is acknowledged.
// Every presence report lists the held jobs, so the coordinator never takes a job for lost while its result is on the
// way.
//
// waiting ──slot free──▶ running ──outcome──▶ reporting ──ack──▶ gone
//    └──drain: released──────┼── halted ──▶ stopping ──run has ended──▶ gone
//                            └── reader gone, run has ended ──▶ leaving ──halted──▶ gone

import type { LeasedJob } from "../contract/fleet/worker.ts";
import type { Progress } from "./calls/runtime.ts";

export type HeldJob = {
  job: LeasedJob;
  state: "waiting" | "running" | "reporting" | "stopping" | "abandoned";
  halt: AbortController;
  progress: Progress | null;
  progressSentAtMs: number;
  /** The latest progress is reported soon. */
  isProgressDue: boolean;
};

const MAX_REMEMBERED_LEASES = 10_000;

export class HeldJobs {
  readonly #held = new Map<string, HeldJob>();
  /** The last finished lease of each job, so that a stale answer naming it starts nothing. */
  readonly #settledLeases = new Map<string, number>();

  get size(): number {
    return this.#held.size;
  }

  get ids(): string[] {
    return [...this.#held.keys()];
  }

  /** A snapshot: later changes do not affect it. */
  all(state?: HeldJob["state"]): HeldJob[] {
    return [...this.#held.values()].filter((held) => state === undefined || held.state === state);
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

  hold(job: LeasedJob): HeldJob {
    const held: HeldJob = {
      job,
      state: "waiting",
      halt: new AbortController(),
      progress: null,
      progressSentAtMs: 0,
      isProgressDue: false,
    };
    this.#held.set(job.id, held);
    return held;
  }

  /** Jobs whose run occupies the runtime, including runs that are being stopped. */
  get runningCount(): number {
    return this.all().filter(({ state }) => state === "running" || state === "stopping").length;
  }

  /** Jobs that take a slot; waiting jobs count. */
  get takenCount(): number {
    return this.all().filter(({ state }) => state !== "reporting" && state !== "abandoned").length;
  }

  settle({ job: { id, lease } }: HeldJob): void {
    this.#held.delete(id);
    this.#settledLeases.delete(id);
    this.#settledLeases.set(id, lease);
    const oldest = this.#settledLeases.keys().next().value;
    if (this.#settledLeases.size > MAX_REMEMBERED_LEASES && oldest !== undefined) this.#settledLeases.delete(oldest);
  }
}
