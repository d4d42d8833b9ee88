// The worker of each conversation's previous turn, kept in memory only: losing it costs a cold cache, never a wrong
// answer.

const KEPT_MS = 10 * 60_000;
export const MAX_CONVERSATIONS = 10_000;

export class Affinity {
  /** In the order of last use. */
  readonly #sessions = new Map<string, { readonly worker: string; readonly usedAt: number }>();

  workerOf(session: string, nowAt: number): string | null {
    const known = this.#sessions.get(session);
    return known === undefined || nowAt - known.usedAt > KEPT_MS ? null : known.worker;
  }

  /** The worker turned out not to be able to answer the conversation. */
  forget(session: string, worker: string): void {
    if (this.#sessions.get(session)?.worker === worker) this.#sessions.delete(session);
  }

  note(session: string, worker: string, nowAt: number): void {
    this.#sessions.delete(session);
    this.#sessions.set(session, { worker, usedAt: nowAt });
    const oldest = this.#sessions.keys().next().value;
    if (this.#sessions.size > MAX_CONVERSATIONS && oldest !== undefined) this.#sessions.delete(oldest);
  }
}
