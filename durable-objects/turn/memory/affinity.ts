// The worker of each conversation's previous turn, kept in memory only: losing it costs a cold cache, never a wrong
// answer.

import { Recent } from "../../store/recent.ts";

const KEPT_MS = 10 * 60_000;
export const MAX_CONVERSATIONS = 10_000;

export class Affinity {
  /** In the order of last use. */
  readonly #sessions = new Recent<{ readonly worker: string; readonly usedAt: number }>(MAX_CONVERSATIONS);

  workerOf(session: string, nowAt: number): string | null {
    const known = this.#sessions.get(session);
    return known === undefined || nowAt - known.usedAt > KEPT_MS ? null : known.worker;
  }

  /** The worker turned out not to be able to answer the conversation. */
  forget(session: string, worker: string): void {
    if (this.#sessions.get(session)?.worker === worker) this.#sessions.drop(session);
  }

  note(session: string, worker: string, nowAt: number): void {
    this.#sessions.drop(session);
    this.#sessions.keep(session, { worker, usedAt: nowAt });
  }
}
