// Reports on their way: kept until the coordinator has acknowledged them, sent again after a while and on every new
// session, in the order in which they were made. Heartbeats are not kept: the next one says more.

import type { WorkerMessage } from "./session.ts";

export type Report = Exclude<WorkerMessage, { type: "presence" }>;

type Pending = { report: Report; sentAtMs: number };

export const RESEND_AFTER_MS = 10_000;

export class Outbox {
  readonly #pending = new Map<string, Pending>();

  get isEmpty(): boolean {
    return this.#pending.size === 0;
  }

  add(report: Report, nowMs: number): void {
    if (report.type === "job.heartbeat")
      this.#remove((one) => one.type === "job.heartbeat" && one.job_id === report.job_id);
    this.#pending.set(report.id, { report, sentAtMs: nowMs });
  }

  /** Takes what an `ack` answers, or nothing where the report is no longer of interest. */
  take(id: string): Report | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending?.report;
  }

  /** The job is no longer this worker's. */
  forget(jobId: string, lease: number): void {
    this.#remove((report) => report.job_id === jobId && report.lease <= lease);
  }

  /** Reports to send again: those unanswered for too long, or on a new session all. Marks them as sent. */
  due(nowMs: number, isNewSession: boolean): Report[] {
    this.#remove((report) => isNewSession && report.type === "job.heartbeat");
    const due = [...this.#pending.values()].filter(
      ({ report, sentAtMs }) =>
        isNewSession || (report.type !== "job.heartbeat" && nowMs - sentAtMs >= RESEND_AFTER_MS),
    );
    for (const pending of due) pending.sentAtMs = nowMs;
    return due.map(({ report }) => report);
  }

  #remove(isGone: (report: Report) => boolean): void {
    for (const [id, { report }] of this.#pending) if (isGone(report)) this.#pending.delete(id);
  }
}
