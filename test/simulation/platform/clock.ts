// Time that only the simulation moves, and the timers of the object under test. A timer never runs by itself: the
// simulation decides when.

interface Timer {
  readonly id: number;
  readonly at: number;
  readonly run: () => void;
}

export class Clock {
  nowAt: number;
  /** Where it stood before it was last set back, until it has reached that again. */
  setBackFromAt = Number.NEGATIVE_INFINITY;
  /** Its time, in elapsed time, when the object first ran an operation after that; infinite before. */
  heededAt = Number.NEGATIVE_INFINITY;
  /** By how much it was set back in all. */
  #setBackMs = 0;
  #timers: Timer[] = [];
  #lastId = 0;

  constructor(startAt: number) {
    this.nowAt = startAt;
  }

  readonly setTimeout = (run: () => void, delayMs = 0): number => {
    this.#lastId += 1;
    this.#timers.push({ id: this.#lastId, at: this.nowAt + Math.max(0, delayMs), run });
    return this.#lastId;
  };

  readonly clearTimeout = (id: number | undefined): void => {
    this.#timers = this.#timers.filter((timer) => timer.id !== id);
  };

  /** What it would show if nobody had set it back: differences are elapsed time. */
  get elapsedAt(): number {
    return this.nowAt + this.#setBackMs;
  }

  setBack(ms: number): void {
    this.#setBackMs += ms;
    this.heededAt = Number.POSITIVE_INFINITY;
    this.setBackFromAt = Math.max(this.nowAt, this.setBackFromAt);
    this.nowAt -= ms;
    // A timer counts elapsed time and does not look at the clock.
    this.#timers = this.#timers.map((timer) => ({ ...timer, at: timer.at - ms }));
  }

  /** For everybody it counts as time that passed, except for timers, which do not look at the clock. */
  setAhead(ms: number): void {
    this.nowAt += ms;
    this.#timers = this.#timers.map((timer) => ({ ...timer, at: timer.at + ms }));
  }

  heed(): void {
    this.heededAt = Math.min(this.heededAt, this.elapsedAt);
  }

  /** What was heeded now is undone, so the next operation heeds it. */
  unheed(): void {
    if (this.heededAt === this.elapsedAt) this.heededAt = Number.POSITIVE_INFINITY;
  }

  nextTimerAt(): number {
    return this.#timers.reduce((earliest, { at }) => Math.min(earliest, at), Number.POSITIVE_INFINITY);
  }

  /** Runs what is due, in order; returns whether there was anything. */
  runDue(): boolean {
    const due = this.#timers
      .filter((timer) => timer.at <= this.nowAt)
      .sort((one, other) => one.at - other.at || one.id - other.id);
    this.#timers = this.#timers.filter((timer) => timer.at > this.nowAt);
    for (const timer of due) timer.run();
    return due.length > 0;
  }

  /** The process ended: its timers are gone. */
  forgetTimers(): void {
    this.#timers = [];
  }
}
