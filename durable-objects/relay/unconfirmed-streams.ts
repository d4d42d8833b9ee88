// Streams that nobody has proved to be this worker's yet: no reader looks for them, and the tenant has not been asked.
// Most streams have their reader before their first event, so that the tenant is seldom asked.

import { STREAM_BYTES } from "./relay-bounds.ts";
import type { RelayedStream } from "./relayed-stream.ts";

interface Answers {
  /** Which of them the tenant gave to this worker. */
  readonly ask: (streams: readonly RelayedStream[]) => Promise<readonly boolean[]>;
  /** Nobody has it. */
  readonly refuse: (stream: RelayedStream) => void;
}

export class UnconfirmedStreams {
  /** With what each has said. */
  readonly #streams = new Map<RelayedStream, number>();
  #saidChars = 0;
  /** What dropped and refused streams count until `forgetLost`. */
  #lostChars = 0;
  readonly #answers: Answers;
  #isAsking = false;

  constructor(answers: Answers) {
    this.#answers = answers;
  }

  add(stream: RelayedStream): void {
    this.#streams.set(stream, STREAM_BYTES);
    this.#saidChars += STREAM_BYTES;
  }

  /** Counts what a stream has said, if it is one of these. */
  note(stream: RelayedStream, chars: number): void {
    const known = this.#streams.get(stream);
    if (known === undefined) return;
    this.#streams.set(stream, known + chars);
    this.#saidChars += chars;
  }

  /** It is this worker's, or is no longer kept. */
  remove(stream: RelayedStream, isOwn = false): void {
    this.#saidChars -= this.#streams.get(stream) ?? 0;
    if (this.#streams.delete(stream) && !isOwn) this.#lostChars += STREAM_BYTES;
  }

  get saidChars(): number {
    return this.#saidChars + this.#lostChars;
  }

  /** Called from time to time, because late output of jobs that a worker had is no fault. */
  forgetLost(): void {
    this.#lostChars = 0;
  }

  refuseAll(): void {
    for (const stream of [...this.#streams.keys()]) this.#answers.refuse(stream);
  }

  /** One question is under way at a time; null if there is nothing to ask. If it has no answer, ask later again. */
  ask(): Promise<void> | null {
    if (this.#isAsking || this.#streams.size === 0) return null;
    this.#isAsking = true;
    return this.#askAll().finally(() => {
      this.#isAsking = false;
    });
  }

  async #askAll(): Promise<void> {
    while (this.#streams.size > 0) {
      const asked = [...this.#streams.keys()];
      const answers = await this.#answers.ask(asked).catch(() => null);
      if (answers === null) return;
      for (const [index, stream] of asked.entries()) {
        if (!this.#streams.has(stream)) continue;
        if (answers[index] === true) this.remove(stream, true);
        else this.#answers.refuse(stream);
      }
    }
  }
}
