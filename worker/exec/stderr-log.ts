// What a command writes to stderr: each line goes to the worker's log, and the last 4 KiB stand in a failure.

import { lineOf } from "../../contract/text/start-of.ts";

const TAIL_BYTES = 4 * 1024;
const MAX_LINE_CHARS = 2_000;

export class StderrLog {
  readonly #log: (line: string) => void;
  readonly #decoder = new TextDecoder();
  #tail: Uint8Array = new Uint8Array();
  #line = "";

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  take(bytes: Uint8Array): void {
    this.#tail = Buffer.concat([this.#tail.subarray(-TAIL_BYTES), bytes]).subarray(-TAIL_BYTES);
    const lines = (this.#line + this.#decoder.decode(bytes, { stream: true })).split("\n");
    this.#line = lines.pop() ?? "";
    for (const line of lines) this.#tell(line);
    if (this.#line.length > MAX_LINE_CHARS) this.end();
  }

  end(): void {
    if (this.#line !== "") this.#tell(this.#line);
    this.#line = "";
  }

  /** The last words, without a character that the cut divided. */
  get tail(): string {
    return new TextDecoder()
      .decode(this.#tail)
      .replace(/^\uFFFD+/, "")
      .trim();
  }

  #tell(line: string): void {
    const told = lineOf(line, MAX_LINE_CHARS);
    if (told !== "") this.#log(told);
  }
}
