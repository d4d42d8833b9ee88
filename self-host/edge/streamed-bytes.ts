// The bytes of an object's answer as its reader takes them: the next are read when the last were taken, and in a turn of
// their tenant (`tick-turns.ts`).

import type { IncomingMessage } from "node:http";
import { type LastWords, WholeEvents } from "../../contract/text/whole-events.ts";

/** What its tenant's streams have in common. */
export interface ReadPace {
  /** To read so many bytes; null: it may read at once. */
  readonly takeTurn: (bytes: number) => Promise<void> | null;
  readonly noteRead: (bytes: number) => unknown;
}

/** `ifLost`: what they end with if the answer breaks off, behind a whole event; without it they fail. */
export const streamedBytes = (
  answer: IncomingMessage,
  { takeTurn, noteRead }: ReadPace,
  ifLost?: LastWords,
): ReadableStream<Uint8Array> => {
  const events = ifLost === undefined ? null : new WholeEvents();
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
  const nextPassed = async (): Promise<Uint8Array | null> => {
    for (;;) {
      const bytes = await next();
      if (bytes === null) return answer.complete && events !== null ? events.rest() : null;
      noteRead(bytes.byteLength);
      const passed = events === null ? bytes : events.take(bytes);
      if (passed.byteLength > 0) return passed;
    }
  };
  return new ReadableStream(
    {
      pull: async (controller) => {
        const bytes = await nextPassed();
        if (bytes !== null && bytes.byteLength > 0) return controller.enqueue(bytes);
        if (answer.complete) return controller.close();
        if (ifLost === undefined || events === null) return controller.error(lost);
        controller.enqueue(new TextEncoder().encode(ifLost(events.last())));
        controller.close();
      },
      cancel: () => void answer.destroy(),
    },
    { highWaterMark: 0 },
  );
};
