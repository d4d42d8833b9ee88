// Keeps history near while jobs come faster than it takes them: what memory does not hold of the outbox costs several
// times as much to send, so new jobs wait a moment instead of making it fall further behind. They go on oldest first,
// none waits longer than `PATIENCE_MS`, and requests about jobs that are there do not wait.

/** The longest that a new job waits for history. */
export const PATIENCE_MS = 5_000;
/** A job takes about so many times its request in the outbox. */
const GROWN = 4;

interface HeldCall {
  readonly chars: number;
  readonly go: () => void;
}

export class Pace {
  /** How much may be added before history is too far behind; less than nothing: it is. */
  readonly #spareChars: () => number;
  readonly #waiting = new Set<HeldCall>();

  constructor(spareChars: () => number) {
    this.#spareChars = spareChars;
  }

  /** Whether new jobs wait now; nobody passes those that do. */
  get isHeld(): boolean {
    return this.#waiting.size > 0 || this.#spareChars() < 0;
  }

  /** Resolves when a request of this length may go on. */
  wait(chars: number): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(waiting);
        resolve();
      };
      const waiting = { chars, go };
      const timer = setTimeout(go, PATIENCE_MS);
      this.#waiting.add(waiting);
    });
  }

  /** History has taken something, or is away. */
  release(): void {
    let spare = this.#spareChars();
    for (const { chars, go } of this.#waiting) {
      if (spare < 0) return;
      spare -= chars * GROWN;
      go();
    }
  }
}
