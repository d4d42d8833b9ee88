// The jobs of the journal that wait: a line for each group, and for each lane of a group that is asked for its lanes.

import { laneOf } from "../../domain/job/flows.ts";
import type { Job } from "../../domain/job/job.ts";
import { Line } from "../../domain/job/line.ts";

export class WaitingLines {
  readonly #lines = new Map<string, Line>();
  /** Of groups in which several flows wait: their lines by lane, made when one is first asked for. */
  readonly #lanes = new Map<string, Map<string, Line>>();

  get byGroup(): ReadonlyMap<string, Pick<Line, "head" | "oldest" | "length">> {
    return this.#lines;
  }

  /** Undefined for none. */
  lane(
    groupKey: string,
    lane: string,
    jobOf: (id: string) => Job | undefined,
  ): Pick<Line, "head" | "length" | "before"> | undefined {
    const known = this.#lanes.get(groupKey);
    if (known !== undefined) return known.get(lane);
    const line = this.#lines.get(groupKey);
    if (line === undefined) return undefined;
    const lanes = new Map<string, Line>();
    this.#lanes.set(groupKey, lanes);
    for (const { id } of line.places) {
      const job = jobOf(id);
      if (job !== undefined) join(lanes, laneOf(job), job);
    }
    return lanes.get(lane);
  }

  /** A job that does not wait is in none. */
  add(job: Job): void {
    if (job.orderKey === null) return;
    join(this.#lines, job.groupKey, job);
    const lanes = this.#lanes.get(job.groupKey);
    if (lanes !== undefined) join(lanes, laneOf(job), job);
  }

  remove(job: Job): void {
    if (job.orderKey === null) return;
    leave(this.#lines, job.groupKey, job);
    const lanes = this.#lanes.get(job.groupKey);
    if (lanes !== undefined) leave(lanes, laneOf(job), job);
    if (!this.#lines.has(job.groupKey)) this.#lanes.delete(job.groupKey);
  }

  clear(): void {
    this.#lines.clear();
    this.#lanes.clear();
  }
}

const join = (lines: Map<string, Line>, name: string, { id, orderKey }: Job): void => {
  if (orderKey === null) return;
  const line = lines.get(name) ?? new Line();
  line.add({ id, orderKey });
  lines.set(name, line);
};

const leave = (lines: Map<string, Line>, name: string, { id, orderKey }: Job): void => {
  const line = lines.get(name);
  if (orderKey === null || line === undefined) return;
  line.remove({ id, orderKey });
  if (line.length === 0) lines.delete(name);
};
