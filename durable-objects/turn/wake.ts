// The object's one alarm. Due times are noted during turns and set after their commit. A turn moves the alarm earlier,
// never later; only the sweep, which computes it again, may move it later. After a failed sweep it waits.

import { DAY_MS } from "../../domain/words/duration.ts";

/** The platform sets no alarm centuries ahead; the sweep of an alarm that comes early sets the next. */
const FARTHEST_MS = 365 * DAY_MS;

export class Wake {
  readonly #state: DurableObjectState;
  #notedAt = Number.POSITIVE_INFINITY;
  #armedAt: number | null = null;
  /** The alarm has fired and its work is not done. */
  #isFiring = false;
  #notBeforeAt = 0;
  #backOffMs = 0;

  constructor(state: DurableObjectState) {
    this.#state = state;
    // An alarm set before the object slept still counts.
    state.blockConcurrencyWhile(async () => {
      this.#armedAt = await state.storage.getAlarm();
    });
  }

  /** Something is due then; null for nothing. */
  note(at: number | null): void {
    if (at !== null && at < this.#notedAt) this.#notedAt = at;
  }

  /**
   * A lost alarm is set again after the answers of the turn that found it: on a full disk this fails and ends the
   * object, and a read must be answered all the same.
   */
  restore(at: number | null): void {
    setTimeout(() => this.arm(at), 0);
  }

  armNoted(): void {
    const at = this.#notedAt;
    this.#notedAt = Number.POSITIVE_INFINITY;
    if (Number.isFinite(at)) this.arm(at);
  }

  arm(dueAt: number | null): void {
    if (dueAt === null) return;
    if (this.#isFiring) {
      this.note(dueAt);
      return;
    }
    // If the clock was set back, the back-off does not get longer.
    const nowAt = Date.now();
    const at = Math.min(Math.max(dueAt, Math.min(this.#notBeforeAt, nowAt + this.#backOffMs)), nowAt + FARTHEST_MS);
    // An alarm that is due already fires no sooner if it is set to an earlier time; on a full disk that fails.
    if (this.#armedAt !== null && this.#armedAt <= Math.max(at, nowAt)) return;
    this.#armedAt = at;
    this.#state.waitUntil(this.#state.storage.setAlarm(at));
  }

  /**
   * The alarm's work begins. If the object dies before its end, the platform lets an alarm that fired come again: one
   * that is set meanwhile would take its place, so it is set at the end. The platform knows whether the alarm has fired
   * or somebody else asked for the work.
   */
  async begin(): Promise<void> {
    this.#notBeforeAt = 0;
    this.#backOffMs = 0;
    const knownAt = this.#armedAt;
    const setAt = await this.#state.storage.getAlarm();
    if (this.#armedAt === knownAt) this.#armedAt = setAt;
    this.#isFiring = this.#armedAt === null;
  }

  /** The work is done; `nextAt` is when any is due next. */
  end(nextAt: number | null): void {
    this.#isFiring = false;
    this.note(nextAt);
    this.armNoted();
  }

  /** The work failed: the alarm fires after this time and not earlier, although work is overdue. */
  backOff(waitMs: number): void {
    this.#isFiring = false;
    this.#armedAt = null;
    this.#backOffMs = waitMs;
    this.#notBeforeAt = Date.now() + waitMs;
    this.arm(this.#notBeforeAt);
  }
}
