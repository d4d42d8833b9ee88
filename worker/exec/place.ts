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
  #process: Promise<KeptProcess> | null = null;
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
      this.#process ??= this.#start();
      const kept = await this.#process.catch((error: Error) => this.#ended(error.message));
      if (kept !== undefined && (await kept.isSettled)) return kept;
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
    const kept = await this.#process?.catch(() => null);
    kept?.end();
    await kept?.gone;
  }

  async #start(): Promise<KeptProcess> {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    const kept = await KeptProcess.start(this.#exec);
    void kept.gone.then((ended) => this.#ended(kept.explain(ended)));
    return kept;
  }

  #ended(words: string): undefined {
    this.#process = null;
    if (this.#isClosed) return;
    this.#failures += 1;
    this.#lastWords = `${words} (${this.#failures} times in a row)`;
    this.#exec.log(`the kept process ended: ${words}`);
    this.#retry = setTimeout(
      () => {
        this.#retry = undefined;
        if (!this.#isClosed) this.#process ??= this.#start();
      },
      backoffMs(this.#failures, 1),
    );
    this.#retry.unref();
  }
}
