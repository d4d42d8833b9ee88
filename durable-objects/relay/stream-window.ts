// The last events of a stream, in parts, for readers that come late. Its events are numbered from 1, those that have
// left the window included.

import { WINDOW_BYTES } from "./relay-bounds.ts";
import type { WindowPart } from "./window-part.ts";

/** A stream's end may come in the parts after its last content. */
const LAST_PARTS = 3;

export class StreamWindow {
  readonly #parts: WindowPart[] = [];
  #chars = 0;
  /** Events that have left the window. */
  #dropped = 0;
  /** Of the parts, how many were counted, and how many events they have. */
  #countedParts = 0;
  #counted = 0;

  /** Whether there were any, in the window or not. */
  get hasEvents(): boolean {
    return this.#dropped > 0 || this.#parts.length > 0;
  }

  /** Whether all events after this one are here. If this one is not known, the events since are lost. */
  has(after: number): boolean {
    return after >= this.#dropped && (after === 0 || after <= this.countAll());
  }

  get text(): string {
    return this.#parts.map(({ text }) => text).join("");
  }

  /** The text of the last parts. The stream's end is in it, if the stream has said it. */
  get lastText(): string {
    const last = this.#parts.slice(-LAST_PARTS).map(({ text }) => text);
    return last.join("");
  }

  get heldBytes(): number {
    let bytes = 0;
    for (const part of this.#parts) bytes += part.heldBytes;
    return bytes;
  }

  /** The number of events so far. Parts but the last, which may grow, are counted once, if a reader wants numbers. */
  countAll(): number {
    while (this.#countedParts < this.#parts.length - 1) {
      this.#counted += this.#parts[this.#countedParts]?.eventCount ?? 0;
      this.#countedParts += 1;
    }
    return this.#dropped + this.#counted + (this.#parts.at(-1)?.eventCount ?? 0);
  }

  /** The parts that have events after this one, each with the number of events before it. */
  *partsAfter(after: number): Generator<readonly [part: WindowPart, before: number]> {
    let before = this.#dropped;
    for (const part of this.#parts) {
      if (before + part.eventCount > after) yield [part, before];
      before += part.eventCount;
    }
  }

  add(part: WindowPart): void {
    this.#chars += part.text.length;
    if (this.#parts.at(-1)?.takeIn(part) !== true) this.#parts.push(part);
  }

  /** Drops the oldest parts above its bound, but never the last. */
  fit(): void {
    while (this.#chars > WINDOW_BYTES && this.#parts.length > 1) this.#drop();
  }

  empty(): void {
    while (this.#parts.length > 0) this.#drop();
  }

  #drop(): void {
    const oldest = this.#parts.shift();
    if (oldest === undefined) return;
    this.#chars -= oldest.text.length;
    this.#dropped += oldest.eventCount;
    if (this.#countedParts === 0) return;
    this.#counted -= oldest.eventCount;
    this.#countedParts -= 1;
  }
}
