// HTTP over a Unix socket to one of our own workerd processes. An answer that does not come is an error marked
// `retryable`, as the platform marks its own: who asked knows whether asking again is safe.

import { Pool } from "undici";
import type { Outcome } from "../../../durable-objects/grouped-calls.ts";

/** Longer than any wait that the API has; a process that is silent for longer hangs. */
const ANSWER_WITHIN_MS = 60_000;

/** The process did not answer: it is not there, or ended before it did. */
export class ProcessAway extends Error {
  readonly retryable = true;
}

export class PrivateLine {
  readonly #pool: Pool;
  readonly #headers: Record<string, string>;

  constructor(socketPath: string, headers: Record<string, string> = {}) {
    const timeouts = { headersTimeout: ANSWER_WITHIN_MS, bodyTimeout: ANSWER_WITHIN_MS };
    this.#pool = new Pool("http://workerd", { connect: { socketPath }, pipelining: 1, ...timeouts });
    this.#headers = headers;
  }

  async post(path: string, body: string): Promise<string> {
    try {
      const answer = await this.#pool.request({ path, method: "POST", headers: this.#headers, body });
      return await answer.body.text();
    } catch (error) {
      throw new ProcessAway((error as Error).message, { cause: error });
    }
  }

  /** A method of an object, through the private door. */
  async call(path: string, body: string): Promise<unknown> {
    const text = await this.post(path, body);
    if (text === "") throw new ProcessAway("the private door gave no answer");
    const outcome = JSON.parse(text) as Outcome;
    if ("thrown" in outcome) throw Object.assign(new Error(outcome.thrown.message), outcome.thrown);
    return outcome.value;
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}
