// The bytes of an object's answer as its reader takes them: the next are read when the last were taken, and in a turn of
// their tenant (`tick-turns.ts`).

import type { IncomingMessage } from "node:http";
import { LastSaid, type LastWords } from "../../src/http/last-said.ts";

/** What its tenant's streams have in common. */
export interface ReadPace {
  /** To read so many bytes; null: it may read at once. */
  readonly takeTurn: (bytes: number) => Promise<void> | null;
  readonly noteRead: (bytes: number) => unknown;
}

/** `ifLost`: what they end with if the answer breaks off; without it they fail. */
export const streamedBytes = (
  answer: IncomingMessage,
  { takeTurn, noteRead }: ReadPace,
  ifLost?: LastWords,
): ReadableStream<Uint8Array> => {
  const said = ifLost === undefined ? null : new LastSaid();
  let lost: Error | null = null;
  let wake = (): void => undefined;
  const moved = (): void => wake();
  answer.on("readable", moved);
  answer.on("close", moved);
  answer.on("error", (error) => {
    lost = error;
  });
  const next = async (): Promise<Uint8Array | null> => {
    for (;;) {
      const turn = answer.readableLength > 0 ? takeTurn(answer.readableLength) : null;
      if (turn !== null) await turn;
      const bytes = answer.read() as Uint8Array | null;
      if (bytes !== null || answer.closed) return bytes;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const events = new WholeEvents();
  /** With last words, only whole events: nothing can be said after half of one. */
  const nextPassed = async (): Promise<Uint8Array | null> => {
    for (;;) {
      const bytes = await next();
      if (bytes === null) return answer.complete ? events.rest() : null;
      noteRead(bytes.byteLength);
      const passed = said === null ? bytes : events.take(bytes);
      said?.note(passed);
      if (passed.byteLength > 0) return passed;
    }
  };
  return new ReadableStream(
    {
      pull: async (controller) => {
        const bytes = await nextPassed();
        if (bytes !== null && bytes.byteLength > 0) return controller.enqueue(bytes);
        if (answer.complete) return controller.close();
        if (ifLost === undefined || said === null) return controller.error(lost);
        controller.enqueue(new TextEncoder().encode(ifLost(said.text())));
        controller.close();
      },
      cancel: () => void answer.destroy(),
    },
    { highWaterMark: 0 },
  );
};

const EVENT_ENDS = ["\n\n", "\n\r\n", "\r\r"];
/** An event of a relay is shorter (`MAX_PART_BYTES`): what is longer passes as it comes. */
export const LONGEST_HELD_BYTES = 2 * 1024 * 1024;

/** Holds back the beginning of an event until its end has come. */
class WholeEvents {
  #held: Buffer = Buffer.alloc(0);

  /** What may pass; it may be empty. */
  take(bytes: Uint8Array): Uint8Array {
    const come = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const all = this.#held.byteLength === 0 ? come : Buffer.concat([this.#held, come]);
    const ends = EVENT_ENDS.map((end) => ({ at: all.lastIndexOf(end, undefined, "latin1"), length: end.length }));
    const end = Math.max(...ends.map(({ at, length }) => (at < 0 ? 0 : at + length)));
    const passed = all.byteLength - end > LONGEST_HELD_BYTES ? all : all.subarray(0, end);
    this.#held = all.subarray(passed.byteLength);
    return passed;
  }

  rest(): Uint8Array {
    const rest = this.#held;
    this.#held = Buffer.alloc(0);
    return rest;
  }
}
