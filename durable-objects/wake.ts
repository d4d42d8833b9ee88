// The object's one alarm. What becomes due is noted while turns run and armed after their commit. Arming moves
// the alarm forward, never back: only the sweep, which computes it again, may set it later; a sweep that fails waits a while.

export class Wake {
  readonly #state: DurableObjectState;
  #notedAt = Number.POSITIVE_INFINITY;
  #armedAt: number | null = null;
  #notBeforeAt = 0;
  #backOffMs = 0;

  constructor(state: DurableObjectState) {
    this.#state = state;
    // One that was set before the object slept still counts.
    state.blockConcurrencyWhile(async () => {
      this.#armedAt = await state.storage.getAlarm();
    });
  }

  /** Something is due then; null for nothing. */
  note(at: number | null): void {
    if (at !== null && at < this.#notedAt) this.#notedAt = at;
  }

  armNoted(): void {
    if (Number.isFinite(this.#notedAt)) this.arm(this.#notedAt);
    this.#notedAt = Number.POSITIVE_INFINITY;
  }

  arm(dueAt: number | null): void {
    if (dueAt === null) return;
    // A clock that was set back makes no back-off longer.
    const at = Math.max(dueAt, Math.min(this.#notBeforeAt, Date.now() + this.#backOffMs));
    if (this.#armedAt !== null && this.#armedAt <= at) return;
    this.#armedAt = at;
    this.#state.waitUntil(this.#state.storage.setAlarm(at));
  }

  /** It has rung: none is set. */
  clear(): void {
    this.#armedAt = null;
    this.#notBeforeAt = 0;
    this.#backOffMs = 0;
  }

  /** What it rang for was not done: it rings after so long, and not before, though things are overdue. */
  backOff(waitMs: number): void {
    this.#armedAt = null;
    this.#backOffMs = waitMs;
    this.#notBeforeAt = Date.now() + waitMs;
    this.arm(this.#notBeforeAt);
  }
}
