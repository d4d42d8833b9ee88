// What a command writes, as it comes: text at once, a line that begins with `{` when it is whole. Bytes that are no
// UTF-8 become U+FFFD. Invariant: no more than one bounded line is held back.

import type { Readable } from "node:stream";
import { MAX_LARGE_RESULT_BYTES } from "../../contract/words/values.ts";

/** A result of the largest size, and what stands around it. */
const MAX_LINE_CHARS = MAX_LARGE_RESULT_BYTES + 1024;

export type Piece =
  | { kind: "text"; text: string }
  /** Whole, without its line end. */
  | { kind: "line"; line: string; end: string }
  /** Longer than any answer may be; nothing after it is read. */
  | { kind: "too_long" };

export class OutputLines {
  readonly #decoder = new TextDecoder();
  /** Every line is held until it is whole, whatever it begins with. */
  readonly #holdsAll: boolean;
  #held = "";
  #isLineStart = true;
  #isOver = false;

  constructor({ holdsAll }: { holdsAll: boolean }) {
    this.#holdsAll = holdsAll;
  }

  take(bytes: Uint8Array): Piece[] {
    return this.#read(this.#decoder.decode(bytes, { stream: true }));
  }

  end(): Piece[] {
    const pieces = this.#read(this.#decoder.decode());
    if (this.#held !== "" && !this.#isOver) pieces.push({ kind: "line", line: this.#held, end: "" });
    this.#held = "";
    return pieces;
  }

  #read(text: string): Piece[] {
    const pieces: Piece[] = [];
    for (let at = 0; at < text.length && !this.#isOver; ) {
      const newline = text.indexOf("\n", at);
      const after = newline === -1 ? text.length : newline + 1;
      const isHeld = this.#held !== "" || (this.#isLineStart && (this.#holdsAll || text[at] === "{"));
      if (isHeld) this.#hold(text.slice(at, newline === -1 ? after : newline), newline !== -1, pieces);
      else pieces.push({ kind: "text", text: text.slice(at, after) });
      this.#isLineStart = newline !== -1;
      at = after;
    }
    return joined(pieces);
  }

  #hold(part: string, isWhole: boolean, pieces: Piece[]): void {
    this.#held += part;
    if (this.#held.length > MAX_LINE_CHARS) {
      this.#isOver = true;
      this.#held = "";
      pieces.push({ kind: "too_long" });
    } else if (isWhole) {
      pieces.push({ kind: "line", line: this.#held, end: "\n" });
      this.#held = "";
    }
  }
}

/**
 * Passes on what a command writes, as it comes, and reads no more before it is taken. @returns what resolves when all so
 * far is.
 */
export const passPieces = (
  stdout: Readable | null,
  lines: OutputLines,
  pass: (pieces: readonly Piece[]) => Promise<void>,
): (() => Promise<void>) => {
  let passed = Promise.resolve();
  stdout?.on("data", (bytes: Buffer) => {
    const pieces = lines.take(bytes);
    if (pieces.length === 0) return;
    stdout.pause();
    passed = passed.then(() => pass(pieces)).finally(() => stdout.resume());
  });
  return () => passed;
};

/** Many short lines of text that came together are passed on together. */
const joined = (pieces: readonly Piece[]): Piece[] => {
  const out: Piece[] = [];
  for (const piece of pieces) {
    const last = out.at(-1);
    if (piece.kind === "text" && last?.kind === "text") last.text += piece.text;
    else out.push({ ...piece });
  }
  return out;
};
