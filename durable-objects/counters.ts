// Counts since the object woke, for the metrics: plain numbers in memory, lost with it, as scrapers expect of counters.

import { JOB_STATUSES, type JobStatus } from "../domain/job-status.ts";

const BUCKETS_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 1800] as const;

export class Histogram {
  readonly #counts = BUCKETS_SECONDS.map(() => 0);
  #count = 0;
  #sum = 0;

  observe(seconds: number): void {
    this.#count += 1;
    this.#sum += seconds;
    BUCKETS_SECONDS.forEach((limit, index) => {
      if (seconds <= limit) this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    });
  }

  samples(): (readonly [string, Record<string, string>, number])[] {
    const buckets = BUCKETS_SECONDS.map(
      (limit, index) => ["_bucket", { le: String(limit) }, this.#counts[index] ?? 0] as const,
    );
    return [...buckets, ["_bucket", { le: "+Inf" }, this.#count], ["_sum", {}, this.#sum], ["_count", {}, this.#count]];
  }
}

export interface Counters {
  readonly jobsByStatus: Record<JobStatus, number>;
  readonly assignmentLatency: Histogram;
}

export const newCounters = (): Counters => ({
  jobsByStatus: Object.fromEntries(JOB_STATUSES.map((status) => [status, 0])) as Record<JobStatus, number>,
  assignmentLatency: new Histogram(),
});
