// Group commit. What limits one object is the commit to disk, so turns that arrive while one is under way run together
// in one stretch and share the next: each atomic for itself, each refused or failed alone.

import type { TenantStorage } from "./store/sql.ts";

/** Bounds what one commit carries and how long others wait for it. */
const MAX_TURNS_A_STRETCH = 256;

/** Does the turn and answers how to tell its caller, once the stretch is over. */
interface Waiting {
  readonly run: () => () => void;
  readonly reject: (error: unknown) => void;
}

/** A turn that threw is undone alone; a stretch whose commit failed is undone with all its turns. */
type OnBroken = (error: unknown, undone: "turn" | "stretch") => void;

export class TurnQueue {
  readonly #storage: TenantStorage;
  readonly #afterStretch: () => void;
  readonly #onBroken: OnBroken;
  #waiting: Waiting[] = [];
  #isScheduled = false;

  /** `afterStretch` sends what the turns left to send; `onBroken` hears what was undone. */
  constructor(storage: TenantStorage, afterStretch: () => void, onBroken: OnBroken) {
    this.#storage = storage;
    this.#afterStretch = afterStretch;
    this.#onBroken = onBroken;
  }

  /** Runs `work` in a transaction of its own, within the next stretch. It must be synchronous. */
  run<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const run = (): (() => void) => {
        try {
          let value: T | undefined;
          this.#storage.transactionSync(() => {
            value = work();
          });
          return () => resolve(value as T);
        } catch (error) {
          this.#onBroken(error, "turn");
          return () => reject(error);
        }
      };
      this.#waiting.push({ run, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setTimeout(() => this.#stretch(), 0);
  }

  #stretch(): void {
    this.#isScheduled = false;
    const turns = this.#waiting.splice(0, MAX_TURNS_A_STRETCH);
    if (this.#waiting.length > 0) this.#schedule();
    const answers: (() => void)[] = [];
    try {
      this.#storage.transactionSync(() => {
        for (const turn of turns) answers.push(turn.run());
      });
    } catch (error) {
      this.#onBroken(error, "stretch");
      for (const turn of turns) turn.reject(error);
      return;
    }
    this.#afterStretch();
    for (const answer of answers) answer();
  }
}
