// The bytes of an object's answer as its reader takes them: the next are read when the last were taken, and in a turn of
// their tenant (`tick-turns.ts`).

import type { IncomingMessage } from "node:http";
import { LastSaid, type LastWords } from "../../src/http/last-said.ts";

/** What its tenant's streams have in common. */
export interface ReadPace {
  /** Null: it may read at once. */
  readonly takeTurn: () => Promise<void> | null;
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
      const turn = answer.readableLength > 0 ? takeTurn() : null;
      if (turn !== null) await turn;
      const bytes = answer.read() as Uint8Array | null;
      if (bytes !== null || answer.closed) return bytes;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return new ReadableStream(
    {
      pull: async (controller) => {
        const bytes = await next();
        if (bytes !== null) {
          noteRead(bytes.byteLength);
          said?.note(bytes);
          return controller.enqueue(bytes);
        }
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
