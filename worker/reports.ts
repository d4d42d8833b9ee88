// The worker's messages to the coordinator: numbered, sent on the current session, and kept until they are
// acknowledged.

import { Outbox, type Report } from "./session/outbox.ts";
import type { Session, WorkerMessage } from "./session/session.ts";

/** A report before it has an id. */
type Unnumbered<T> = T extends { id: string } ? Omit<T, "id"> : never;

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
    this.#outbox.add(report, performance.now());
    this.#session?.send(report);
  }

  /** See `Session`; undefined where nothing is held back. */
  startTold(jobId: string): Promise<void> | undefined {
    return this.#session?.startTold?.(jobId);
  }

  /** Sent once and not kept: a presence report, which the next one replaces. */
  send(message: WorkerMessage): void {
    this.#session?.send(message);
  }

  /** Removes the report that an `ack` answers; undefined if it is no longer kept. */
  take(id: string): Report | undefined {
    return this.#outbox.take(id);
  }

  /** Drops the reports of a job that is no longer this worker's. */
  forget(jobId: string, lease: number): void {
    this.#outbox.forget(jobId, lease);
  }

  /** Sends again what is unanswered for too long, or everything on a new session. */
  repeat(isNewSession: boolean): void {
    for (const report of this.#outbox.due(performance.now(), isNewSession)) this.#session?.send(report);
  }

  nextId(): string {
    this.#lastId += 1;
    return String(this.#lastId);
  }
}
