// Group commit. The commit to disk limits one object, so turns that arrive during a commit run together: one
// transaction, one commit, then all their answers. A turn changes only the database, what is rebuilt from it, and what
// is left to do after the commit, so it may run again after its group was rolled back.

import type { TenantStorage } from "../store/sql.ts";

/**
 * Bounds what one commit contains and how long others wait for it, in calls and messages. A worker with a thousand places
 * has its first answers, and goes on, while the object does the rest.
 */
const MAX_PER_COMMIT = 256;
/** How much of it vital turns may have. They go first, but always leave room for the others. */
const MAX_VITAL_PER_COMMIT = 192;

/** What runs around the turns of one commit. */
interface CommitHooks {
  /** After the last turn, still inside the transaction: writes what the turns write together. */
  readonly close: () => void;
  /** After the commit: sends the effects. */
  readonly tell: () => void;
  /** After a rollback: drops everything that the turns left behind. `error` is set if a single turn is to blame. */
  readonly undo: (error: unknown) => void;
}

/** Runs the turn; returns a function that answers its caller, to be called after the commit. */
interface QueuedTurn {
  /** How many calls or messages it answers; never more than the others are left of a commit. */
  readonly size: number;
  readonly run: () => () => void;
  readonly reject: (error: unknown) => void;
}

/** Takes the first that fit together. */
const takeFirst = (queue: QueuedTurn[], room: number): QueuedTurn[] => {
  let left = room;
  let count = 0;
  for (const { size } of queue) {
    left -= size;
    if (left < 0) break;
    count += 1;
  }
  return queue.splice(0, count);
};

const sizeOf = (turns: readonly QueuedTurn[]): number => turns.reduce((sum, { size }) => sum + size, 0);

export class TurnQueue {
  readonly #storage: TenantStorage;
  readonly #hooks: CommitHooks;
  #vital: QueuedTurn[] = [];
  #waiting: QueuedTurn[] = [];
  #isScheduled = false;
  #isGathering = false;

  constructor(storage: TenantStorage, hooks: CommitHooks) {
    this.#storage = storage;
    this.#hooks = hooks;
  }

  /**
   * Runs `work`, which must be synchronous, within the next commit; all of it is stored, or nothing. Vital work goes
   * first. `size`: how many calls or messages it answers.
   */
  run<T>(work: () => T, isVital = false, size = 1): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const run = (): (() => void) => {
        const value = work();
        return () => resolve(value);
      };
      this.#schedule();
      (isVital ? this.#vital : this.#waiting).push({ size, run, reject });
    });
  }

  /**
   * Runs the turns that `begin` queues, and those that wait, at once: they were collected elsewhere, so no timer is
   * needed.
   */
  together<T>(begin: () => T): T {
    this.#isGathering = true;
    try {
      return begin();
    } finally {
      this.#isGathering = false;
      this.#next();
    }
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isGathering) return;
    // Throws where the object has too many timers: this turn is refused, and a later one tries again.
    setTimeout(() => this.#run(), 0);
    this.#isScheduled = true;
  }

  #run(): void {
    this.#isScheduled = false;
    this.#next();
  }

  #next(): void {
    if (this.#vital.length + this.#waiting.length === 0) return;
    const vital = takeFirst(this.#vital, MAX_VITAL_PER_COMMIT);
    const turns = [...vital, ...takeFirst(this.#waiting, MAX_PER_COMMIT - sizeOf(vital))];
    try {
      this.#commit(turns);
    } finally {
      if (this.#vital.length + this.#waiting.length > 0) this.#schedule();
    }
  }

  /** A turn that throws rolls its group back; each turn then gets a commit of its own, so that it fails alone. */
  #commit(turns: readonly QueuedTurn[]): void {
    const answers: (() => void)[] = [];
    try {
      this.#storage.transactionSync(() => {
        for (const turn of turns) answers.push(turn.run());
        this.#hooks.close();
      });
    } catch (error) {
      const [only, ...others] = turns;
      this.#hooks.undo(others.length === 0 ? error : null);
      if (others.length === 0) only?.reject(error);
      else for (const turn of turns) this.#commit([turn]);
      return;
    }
    try {
      this.#hooks.tell();
    } finally {
      for (const answer of answers) answer();
    }
  }
}
