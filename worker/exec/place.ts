// A place of mode `lines`: it keeps one process, and starts it again when it ends, with growing pauses. A process that
// ends again and again without an answer makes the place unavailable, so that no job spends an attempt on it.

import { backoffMs } from "../session/backoff.ts";
import { KeptProcess } from "./kept-process.ts";
import type { ExecOptions } from "./options.ts";

/** So many ends in a row without a finished job. */
const HOPELESS_AFTER = 3;

export class Place {
  isTaken = false;
  readonly #exec: ExecOptions;
  /** Null in it: it could not be started. */
  #process: Promise<KeptProcess | null> | null = null;
  #retry: NodeJS.Timeout | undefined;
  #failures = 0;
  #lastWords = "";
  #isClosed = false;

  constructor(exec: ExecOptions) {
    this.#exec = exec;
  }

  /** A process that can work, or why there is none. */
  async ready(): Promise<KeptProcess | string> {
    while (!this.#isClosed) {
      if (this.#process === null && this.#failures >= HOPELESS_AFTER && this.#retry !== undefined)
        return this.#lastWords;
      const kept = await (this.#process ?? this.#start());
      if (kept !== null && (await kept.isSettled)) return kept;
      if (this.#failures >= HOPELESS_AFTER) return this.#lastWords;
    }
    return "the worker is shutting down";
  }

  /** A job was done. */
  succeeded(): void {
    this.#failures = 0;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    const kept = await this.#process;
    kept?.end();
    await kept?.gone;
  }

  /** Never rejects: nobody waits for a process that is started again by itself. */
  #start(): Promise<KeptProcess | null> {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#process = KeptProcess.start(this.#exec).then(
      (kept) => {
        void kept.gone.then((ended) => this.#ended(kept.explain(ended), kept.isReplaced));
        return kept;
      },
      (error: Error) => {
        this.#ended(error.message);
        return null;
      },
    );
    return this.#process;
  }

  #ended(words: string, isReplaced = false): void {
    this.#process = null;
    if (this.#isClosed) return;
    this.#exec.log(`the kept process ended: ${words}`);
    if (isReplaced) return void this.#start();
    this.#failures += 1;
    this.#lastWords = `${words} (${this.#failures} times in a row)`;
    this.#retry = setTimeout(() => void this.#start(), backoffMs(this.#failures, 1));
    this.#retry.unref();
  }
}
