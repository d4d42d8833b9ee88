// What the worker tells the coordinator: numbered, sent on whatever session there is, and kept until it is acknowledged.

import { Outbox, type Report } from "./outbox.ts";
import type { Session, WorkerMessage } from "./session.ts";

/** A report before it has an id. */
export type Unnumbered<T> = T extends { id: string } ? Omit<T, "id"> : never;

export class Reports {
  readonly #outbox = new Outbox();
  #session: Session | null = null;
  #lastId = 0;

  attach(session: Session): void {
    this.#session = session;
  }

  detach(): void {
    this.#session = null;
  }

  get isEmpty(): boolean {
    return this.#outbox.isEmpty;
  }

  add(unnumbered: Unnumbered<Report>): void {
    const report = { ...unnumbered, id: this.nextId() } as Report;
    this.#outbox.add(report, Date.now());
    this.#session?.send(report);
  }

  /** Sent as it is and not kept: a presence, which the next one replaces. */
  send(message: WorkerMessage): void {
    this.#session?.send(message);
  }

  /** Takes what an `ack` answers, or nothing where the report is no longer of interest. */
  take(id: string): Report | undefined {
    return this.#outbox.take(id);
  }

  /** The job is no longer this worker's. */
  forget(jobId: string, lease: number): void {
    this.#outbox.forget(jobId, lease);
  }

  /** Sends again what is unanswered for too long, or on a new session all. */
  repeat(isNewSession: boolean): void {
    for (const report of this.#outbox.due(Date.now(), isNewSession)) this.#session?.send(report);
  }

  nextId(): string {
    this.#lastId += 1;
    return String(this.#lastId);
  }
}
