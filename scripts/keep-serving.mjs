// A server that dies is started again, with growing pauses, by the process that started it. It says over the channel
// between them that it serves, and on which port; one that never served, or that ended in order, is not started again.

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** A server that lived this long had started well: its next death counts as the first. */
const WELL_AFTER_MS = 10_000;

export const isServer = (target) => target === "scripts/start.ts";
/** The benchmark does. */
export const startsServers = (target) => target === "bench/main.ts";
/** What is run for a server (`self-host/build/server-bundle.ts`). */
export const SERVER = "dist/server/start.js";

const described = (code, signal) => (signal ? `was ended by ${signal}` : `exited with code ${code}`);

/** The lives of one server. */
export class Lives {
  #port;
  #startedAt = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #lastEnd;

  /** What the next process is told by its environment. */
  begin() {
    this.#startedAt = performance.now();
    return {
      ...(this.#port === undefined ? {} : { PORT: String(this.#port) }),
      ...(this.#lastEnd === undefined ? {} : { SERVICE_STARTED_AGAIN: this.#lastEnd }),
    };
  }

  hear(message) {
    if (typeof message?.servingPort === "number") this.#port = message.servingPort;
  }

  /** How long to wait before it is started again; null: it is not. */
  pauseAfter(code, signal) {
    if (code === 0 || this.#port === undefined) return null;
    if (performance.now() - this.#startedAt > WELL_AFTER_MS) this.#pauseMs = FIRST_PAUSE_MS;
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    this.#lastEnd = described(code, signal);
    return pauseMs;
  }
}
