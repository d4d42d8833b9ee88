// How far something long is, on a terminal: shown once it has taken a second, a few times a second, and gone at its end.
// In a pipe it prints nothing.

import { duration } from "../contract/text/time-words.ts";
import type { Output } from "./output.ts";

const PATIENCE_MS = 1_000;
const EVERY_MS = 100;
const BAR_CHARS = 20;

export const barOf = (done: number, total: number): string => {
  const filled = total === 0 ? 0 : Math.min(BAR_CHARS, Math.floor((done / total) * BAR_CHARS));
  return `[${"#".repeat(filled)}${"-".repeat(BAR_CHARS - filled)}]`;
};

const UNITS = ["B", "KB", "MB", "GB", "TB"];

export const bytesText = (bytes: number): string => {
  const power = Math.min(UNITS.length - 1, bytes < 1 ? 0 : Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${UNITS[power]}`;
};

const textOf = (what: string, done: number, total: number | null, tookMs: number): string => {
  const rate = (done * 1000) / tookMs;
  const speed = `${bytesText(rate)}/s`;
  if (total === null) return `${what} ${bytesText(done)}, ${speed}`;
  const left = done === 0 ? "" : `, ${duration(((total - done) / rate) * 1000)} left`;
  return `${what} ${barOf(done, total)} ${bytesText(done)} of ${bytesText(total)}, ${speed}${left}`;
};

/** The bytes of something that is sent or fetched. */
export class Progress {
  readonly #output: Output;
  readonly #what: string;
  readonly #total: number | null;
  readonly #startedAt = Date.now();
  #shownAt = 0;
  #done = 0;

  constructor(output: Output, what: string, total: number | null) {
    this.#output = output;
    this.#what = what;
    this.#total = total;
  }

  /** From the beginning: a request is repeated. */
  restart(): void {
    this.#done = 0;
  }

  add(bytes: number): void {
    this.#done += bytes;
    const nowAt = Date.now();
    if (nowAt - this.#startedAt < PATIENCE_MS || nowAt - this.#shownAt < EVERY_MS) return;
    this.#shownAt = nowAt;
    this.#output.live(textOf(this.#what, this.#done, this.#total, nowAt - this.#startedAt));
  }

  /** Passes bytes on and counts them. */
  counter(): TransformStream<Uint8Array, Uint8Array> {
    return new TransformStream({
      transform: (chunk, controller) => {
        this.add(chunk.byteLength);
        controller.enqueue(chunk);
      },
    });
  }

  end(): void {
    this.#output.endLive();
  }
}

/** The same bytes, counted when they are read: `fetch` reads a blob by its stream. */
export const countedBlob = (blob: Blob, progress: Progress): Blob =>
  Object.assign(blob, {
    stream: () => {
      progress.restart();
      return Blob.prototype.stream.call(blob).pipeThrough(progress.counter());
    },
  });
