// HTTP over a Unix socket to one of our own workerd processes. An answer that does not come is an error marked
// `retryable`, as the platform marks its own: who asked knows whether asking again is safe.

import { Readable } from "node:stream";
import { Pool } from "undici";
import type { Outcome } from "../../../durable-objects/grouped-calls.ts";

/** Longer than any wait that the API has; a process that is silent for longer hangs. */
const ANSWER_WITHIN_MS = 60_000;

/** The process did not answer: it is not there, or ended before it did. */
export class ProcessAway extends Error {
  readonly retryable = true;
}

/** What the app reads of an answer. */
export interface Streamed {
  readonly status: number;
  readonly body: ReadableStream<Uint8Array>;
  readonly text: () => Promise<string>;
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

  /** Hands a request to an object. Its answer may begin whenever it likes, and stream for as long as it likes. */
  async fetch(path: string, url: string, init: { method?: string; body?: unknown } = {}): Promise<Streamed> {
    try {
      const answer = await this.#pool.request({
        path,
        method: (init.method ?? "GET") as "GET",
        headers: { ...this.#headers, "x-signalbox-url": url },
        body: init.body instanceof ReadableStream ? Readable.fromWeb(init.body as never) : null,
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      const { body } = answer;
      // The reader hears of an early end; nobody else needs to.
      body.on("error", () => undefined);
      return {
        status: answer.statusCode,
        body: Readable.toWeb(body) as unknown as ReadableStream<Uint8Array>,
        text: () => body.text(),
      };
    } catch (error) {
      throw new ProcessAway((error as Error).message, { cause: error });
    }
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}
