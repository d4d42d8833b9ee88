// What jobs that have left the object cost, told since: a record of one that history gave before it was sent that does
// not show it. By the rule of history's own statement (`history/corrections.ts`), which may be applied twice.

import { usageOfCounts } from "../../domain/job/attempt.ts";
import type { Job } from "../../domain/job/job.ts";
import type { Correction } from "../store/outbox.ts";

export const MAX_LATE_COSTS = 1_000;

export class LateCosts {
  /** By job, in the order in which they were told. */
  readonly #told = new Map<string, Correction>();
  #stored: (() => readonly Correction[]) | null;

  /** @param stored reads those that history was not sent yet: once, because few jobs come back. */
  constructor(stored: () => readonly Correction[]) {
    this.#stored = stored;
  }

  note(cost: Correction): void {
    this.#told.delete(cost.jobId);
    this.#told.set(cost.jobId, cost);
    const [oldest = ""] = this.#told.keys();
    if (this.#told.size > MAX_LATE_COSTS) this.#told.delete(oldest);
  }

  shownOn(job: Job): Job {
    if (this.#stored !== null) for (const cost of [...this.#stored(), ...this.#told.values()]) this.note(cost);
    this.#stored = null;
    const told = this.#told.get(job.id);
    if (told?.lease !== job.lease) return job;
    return { ...job, usage: usageOfCounts(told) ?? job.usage, costNanoUsd: told.nanoUsd ?? job.costNanoUsd };
  }
}
