// The requests of a worker without a socket, over the typed client. No answer, or an invalid one, ends the session or
// counts against it; the rest are answers of the service or its refusals.

import { ApiProblem } from "../../contract/client/problem.ts";
import type { CallOptions } from "../../contract/client/transport.ts";
import { type Client, createClient } from "../../contract/client.ts";
import { reasonOf } from "../../contract/text/error-causes.ts";
import { type Ending, explainRefusal, isRefusal, type SessionSettings } from "./session.ts";

const REQUEST_TIMEOUT_MS = 40_000;
/** An answer that has begun and stops halfway, as behind a proxy that lost its server, is given up, too. */
const WHOLE_ANSWER_WITHIN_MS = 60_000;
const MAX_FAILURES_IN_A_ROW = 3;

export type HttpLineOptions = SessionSettings & { fetch?: typeof fetch; wholeAnswerWithinMs?: number };

export type Answered<T> = { ok: true; value: T } | { ok: false; problem: ApiProblem };

export class HttpLine {
  /** Whether the coordinator has given a valid answer; until then a single failure ends the session. */
  isKnown = false;
  readonly #client: Client;
  readonly #settings: SessionSettings;
  readonly #end: (ending: Ending) => void;
  readonly #closing = new AbortController();
  readonly #wholeAnswerWithinMs: number;
  #failures = 0;

  constructor(
    { fetch, wholeAnswerWithinMs = WHOLE_ANSWER_WITHIN_MS, ...settings }: HttpLineOptions,
    end: (ending: Ending) => void,
  ) {
    const { apiUrl: url, apiKey: key } = settings;
    this.#client = createClient({ url, key, fetch, retries: 0, timeoutMs: REQUEST_TIMEOUT_MS });
    this.#settings = settings;
    this.#wholeAnswerWithinMs = wholeAnswerWithinMs;
    this.#end = end;
  }

  /**
   * Null if there is nothing to act on: the service is down or overloaded, or the session has ended. `isEnd`: which
   * statuses end it.
   */
  async ask<T>(
    request: (client: Client, options: CallOptions) => Promise<T>,
    isEnd: (status: number) => boolean = isRefusal,
  ): Promise<Answered<T> | null> {
    const late = AbortSignal.timeout(this.#wholeAnswerWithinMs);
    try {
      const value = await request(this.#client, { signal: AbortSignal.any([this.#closing.signal, late]) });
      this.#failures = 0;
      return { ok: true, value };
    } catch (error) {
      if (error instanceof ApiProblem) return this.#judge(error, isEnd);
      this.#end({ kind: "lost", reason: late.aborted ? "an answer stopped halfway" : "closed" });
      return null;
    }
  }

  countFailure(reason: string): void {
    this.#failures += 1;
    if (!this.isKnown || this.#failures >= MAX_FAILURES_IN_A_ROW) this.#end({ kind: "lost", reason });
  }

  close(): void {
    this.#closing.abort();
  }

  #judge(problem: ApiProblem, isEnd: (status: number) => boolean): Answered<never> | null {
    const { status, message, code } = problem;
    const isForeign = code === "redirected" || code === "unexpected_answer";
    if (isEnd(status)) this.#end({ kind: "refused", reason: this.#explain(problem), isForeign });
    // As when a socket closes: a new session starts with presence and everything unacknowledged.
    else if (status === 0) this.#end({ kind: "lost", reason: reasonOf(problem.cause) || message });
    else if (isForeign || status < 300 || status === 408 || status === 429 || status >= 500)
      this.countFailure(`HTTP ${status} ${message}`);
    else {
      this.#failures = 0;
      return { ok: false, problem };
    }
    return null;
  }

  #explain({ status, code, message }: ApiProblem): string {
    return code === "redirected"
      ? `SERVICE_API_URL ${this.#settings.apiUrl}: ${message}`
      : explainRefusal(status, message, this.#settings);
  }
}
