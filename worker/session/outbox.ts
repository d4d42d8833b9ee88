// Reports in transit: kept until the coordinator acknowledges them, sent again after a while and on every new session,
// in order. Heartbeats are not kept, because the next one replaces them.

import type { JobReport as Report } from "../../contract/socket.ts";

export type { Report };

type Pending = { report: Report; sentAtMs: number };

export const RESEND_AFTER_MS = 10_000;

export class Outbox {
  readonly #pending = new Map<string, Pending>();
  /** The heartbeat that is kept of each job. */
  readonly #heartbeats = new Map<string, string>();

  get isEmpty(): boolean {
    return this.#pending.size === 0;
  }

  add(report: Report, nowMs: number): void {
    if (report.type === "job.heartbeat") {
      this.#pending.delete(this.#heartbeats.get(report.job_id) ?? "");
      this.#heartbeats.set(report.job_id, report.id);
    }
    this.#pending.set(report.id, { report, sentAtMs: nowMs });
  }

  /** Removes the report that an `ack` answers; undefined if it is no longer kept. */
  take(id: string): Report | undefined {
    const report = this.#pending.get(id)?.report;
    this.#pending.delete(id);
    if (report?.type === "job.heartbeat") this.#heartbeats.delete(report.job_id);
    return report;
  }

  /** Drops the reports of a job that is no longer this worker's. */
  forget(jobId: string, lease: number): void {
    this.#remove((report) => report.job_id === jobId && report.lease <= lease);
  }

  /** Reports to send again: those unanswered for too long, or all on a new session. Marks them as sent. */
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
    for (const [id, { report }] of this.#pending) if (isGone(report)) this.take(id);
  }
}
