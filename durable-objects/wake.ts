// The object's one alarm. What becomes due is noted while a stretch runs and armed once that is stored. Arming moves
// the alarm forward, never back: only the sweep, which computes it anew, lets it be later.

export class Wake {
  readonly #state: DurableObjectState;
  #notedAt = Number.POSITIVE_INFINITY;
  #armedAt: number | null = null;

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

  arm(at: number | null): void {
    if (at === null || (this.#armedAt !== null && this.#armedAt <= at)) return;
    this.#armedAt = at;
    this.#state.waitUntil(this.#state.storage.setAlarm(at));
  }

  /** It has rung: none is set. */
  clear(): void {
    this.#armedAt = null;
  }
}
