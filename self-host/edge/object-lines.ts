// The lines to the objects of one process. A line keeps its object in memory and a file open at both ends, so lines
// that are idle are closed, and so is the one that has been idle for longest where there are many: a call opens another.
// A line with sockets is not idle.

import type { ObjectLine } from "./object-line.ts";

const IDLE_MS = 10_000;
/** Longer than any wait of the API: a process that is silent for longer hangs. */
const SILENT_MS = 60_000;
const LOOK_EVERY_MS = 5_000;
/** Their files are among those that `descriptors.ts` keeps free; a line with sockets has one of its sockets' two. */
export const MAX_LINES = 200;

export class ObjectLines {
  readonly #open: (path: string, onEnd: (line: ObjectLine) => void) => ObjectLine;
  /** By path, the last used at the end. */
  readonly #lines = new Map<string, ObjectLine>();
  #look: NodeJS.Timeout | null = null;

  constructor(open: (path: string, onEnd: (line: ObjectLine) => void) => ObjectLine) {
    this.#open = open;
  }

  /** The line to use now. */
  to(path: string): ObjectLine {
    const line = this.#lines.get(path) ?? this.#openOne(path);
    this.#lines.delete(path);
    this.#lines.set(path, line);
    return line;
  }

  close(): void {
    for (const path of this.#lines.keys()) this.#end(path);
  }

  #openOne(path: string): ObjectLine {
    if (this.#lines.size >= MAX_LINES) this.#endOne();
    this.#look ??= setInterval(() => this.#lookAround(), LOOK_EVERY_MS).unref();
    return this.#open(path, (ended) => {
      if (this.#lines.get(path) === ended) this.#end(path);
    });
  }

  #endOne(): void {
    const idle = [...this.#lines].find(([, line]) => !line.isBusy);
    if (idle !== undefined) this.#end(idle[0]);
  }

  #lookAround(): void {
    for (const [path, line] of this.#lines) {
      if (!line.isBusy && line.unusedMs() > IDLE_MS) this.#end(path);
      if (line.silentMs() > SILENT_MS) this.#end(path, new Error("the process does not answer"));
    }
  }

  #end(path: string, error?: Error): void {
    this.#lines.get(path)?.close(error);
    this.#lines.delete(path);
    if (this.#lines.size > 0 || this.#look === null) return;
    clearInterval(this.#look);
    this.#look = null;
  }
}
