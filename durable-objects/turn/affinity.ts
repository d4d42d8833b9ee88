// The worker of each conversation's previous turn, kept in memory only: losing it costs a cold cache, never a wrong
// answer.

const KEPT_MS = 10 * 60_000;
export const MAX_CONVERSATIONS = 10_000;

export class Affinity {
  /** In the order of last use. */
  readonly #sessions = new Map<string, { readonly worker: string; readonly usedAt: number }>();
  /** Stands before the oldest entry: a new iterator would pass all entries that were deleted since the map last grew. */
  readonly #oldest = this.#sessions.keys();

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
    if (this.#sessions.size <= MAX_CONVERSATIONS) return;
    const oldest = this.#oldest.next().value;
    if (oldest !== undefined) this.#sessions.delete(oldest);
  }
}
