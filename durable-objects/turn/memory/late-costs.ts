// Costs that were told of jobs after they had left the object. A record that history gives out before it is sent such a
// cost does not show it, so it is added here, by the rule of history's own statement (`history/corrections.ts`): applied
// twice it changes nothing.

import { usageOfCounts } from "../../../domain/job/attempt.ts";
import type { Job } from "../../../domain/job/job.ts";
import type { Correction } from "../../store/outbox.ts";

export const MAX_LATE_COSTS = 1_000;

export class LateCosts {
  /** By job, in the order in which they were told. */
  readonly #told = new Map<string, Correction>();
  #stored: (() => readonly Correction[]) | null;

  /** @param stored reads the costs that history has not been sent. It is called once at most: few jobs come back. */
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
