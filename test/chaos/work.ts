// One job on a worker: work that succeeds, fails, is given back, or goes on long after the lease was lost. Every report
// is repeated until it is answered.

import { setTimeout as pause } from "node:timers/promises";
import type { LeasedJob } from "../../contract/fleet/worker.ts";
import type { Verb } from "./history.ts";
import type { Stage } from "./stage.ts";

/** "ok", a refusal's code, or null without an answer. */
export type Send = (verb: Verb, jobId: string, fields: Record<string, unknown>) => Promise<string | null>;

type Course = "complete" | "complete at once" | "fail" | "rate limit" | "release" | "vanish" | "sleep";
const COURSES: readonly (readonly [Course, number])[] = [
  ["complete", 56],
  ["complete at once", 13],
  ["fail", 6],
  ["rate limit", 3],
  ["release", 5],
  ["vanish", 4],
  ["sleep", 13],
];
const MAX_WORK_MS = 150;
/** Long enough for a report of an earlier lease to arrive in between. */
const MAX_LONG_WORK_MS = 1_500;
const LONG_WORK_SHARE = 0.2;
/** Longer than a silent job keeps its lease. */
const MAX_SLEEP_MS = 4_500;
const REPEAT_AFTER_MS = 30;

export class Hands {
  /** The jobs that this worker would list. */
  readonly jobIds = new Set<string>();
  readonly #seen = new Set<string>();
  readonly #stage: Stage;
  readonly #worker: string;
  readonly #send: Send;

  constructor(stage: Stage, worker: string, send: Send) {
    this.#stage = stage;
    this.#worker = worker;
    this.#send = send;
  }

  /** Takes an assigned job; a repeated lease is not worked on twice. */
  take(job: LeasedJob): void {
    const name = `${job.id}/${job.lease}`;
    if (this.#seen.has(name)) return;
    this.#seen.add(name);
    this.#stage.history.add({ kind: "handed", worker: this.#worker, jobId: job.id, lease: job.lease });
    this.jobIds.add(job.id);
    this.#work(job).finally(() => this.jobIds.delete(job.id));
  }

  async #work(job: LeasedJob): Promise<void> {
    const { random, isRough } = this.#stage;
    const course = isRough ? random.weighted(COURSES) : "complete";
    if (course === "vanish") return;
    if (course !== "complete at once" && (await this.#report("start", job)) !== "ok") return;
    await pause(random.next() * (random.next() < LONG_WORK_SHARE ? MAX_LONG_WORK_MS : MAX_WORK_MS));
    if (random.next() < 0.2) await this.#report("heartbeat", job, { progress: { part: random.next() } });
    if (course === "sleep") {
      this.jobIds.delete(job.id);
      await pause(random.next() * MAX_SLEEP_MS);
    }
    await this.#finish(job, course);
  }

  async #finish(job: LeasedJob, course: Course): Promise<void> {
    const mark = `${this.#worker}/${job.id}/${job.lease}/${Math.floor(this.#stage.random.next() * 1e9)}`;
    const costNanoUsd = 1000 * (1 + Math.floor(this.#stage.random.next() * 999));
    const spent = { cost_usd: costNanoUsd / 1e9, usage: { input_tokens: 1, output_tokens: 1 } };
    if (course === "release") await this.#report("release", job, { reason: mark }, mark);
    else if (course === "fail" || course === "rate limit") {
      const code = course === "fail" ? "broken" : "rate_limited";
      await this.#report("fail", job, { error: { code, message: mark }, ...spent }, mark, costNanoUsd);
    } else await this.#report("complete", job, { result: { mark }, ...spent }, mark, costNanoUsd);
  }

  /** Until it is answered; each try is recorded. */
  async #report(
    verb: Verb,
    job: LeasedJob,
    fields: Record<string, unknown> = {},
    mark = "",
    costNanoUsd = 0,
  ): Promise<string | null> {
    const { history, random } = this.#stage;
    while (!this.#stage.isOver) {
      const outcome = await this.#send(verb, job.id, { lease: job.lease, ...fields });
      const [jobId, lease] = [job.id, job.lease];
      history.add({ kind: "report", verb, worker: this.#worker, jobId, lease, mark, costNanoUsd, outcome });
      // Sometimes repeats an accepted report: it must get the same answer.
      const isRepeated = outcome === "ok" && verb === "complete" && random.next() < 0.05;
      if (outcome !== null && !isRepeated) return outcome;
      await pause(REPEAT_AFTER_MS * (1 + random.next()));
    }
    return null;
  }
}
