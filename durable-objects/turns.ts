// Group commit. What limits one object is the commit to disk, so turns that arrive while one is under way run together
// in one stretch: one transaction, one commit, then all their answers. A turn must have no effect but on the database,
// on what is rebuilt from it, and on what the stretch leaves to do: it may be run again after its stretch was undone.

import type { TenantStorage } from "./store/sql.ts";

/** Bounds what one commit carries and how long others wait for it. */
const MAX_TURNS_A_STRETCH = 256;

/** What frames the turns of a stretch. */
export interface Stretch {
  /** After the last turn, still inside the transaction: writes what the turns write together. */
  readonly close: () => void;
  /** It is stored: sends what its turns left to send. */
  readonly tell: () => void;
  /** It is rolled back: drops whatever its turns left behind. `error` is set where one turn alone is to blame. */
  readonly undo: (error: unknown) => void;
}

/** Does the turn and answers how to tell its caller, once the stretch is over. */
interface Waiting {
  readonly run: () => () => void;
  readonly reject: (error: unknown) => void;
}

export class TurnQueue {
  readonly #storage: TenantStorage;
  readonly #stretch: Stretch;
  #waiting: Waiting[] = [];
  #isScheduled = false;

  constructor(storage: TenantStorage, stretch: Stretch) {
    this.#storage = storage;
    this.#stretch = stretch;
  }

  /** Runs `work`, which must be synchronous, within the next stretch; all of it is stored, or nothing. */
  run<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const run = (): (() => void) => {
        const value = work();
        return () => resolve(value);
      };
      this.#waiting.push({ run, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setTimeout(() => this.#next(), 0);
  }

  #next(): void {
    this.#isScheduled = false;
    const turns = this.#waiting.splice(0, MAX_TURNS_A_STRETCH);
    if (this.#waiting.length > 0) this.#schedule();
    this.#carryOut(turns);
  }

  /** A turn that throws undoes its stretch; each turn of it then gets one of its own, so that it fails alone. */
  #carryOut(turns: readonly Waiting[]): void {
    const answers: (() => void)[] = [];
    try {
      this.#storage.transactionSync(() => {
        for (const turn of turns) answers.push(turn.run());
        this.#stretch.close();
      });
    } catch (error) {
      const [only, ...others] = turns;
      this.#stretch.undo(others.length === 0 ? error : null);
      if (others.length === 0) only?.reject(error);
      else for (const turn of turns) this.#carryOut([turn]);
      return;
    }
    this.#stretch.tell();
    for (const answer of answers) answer();
  }
}
