// The bytes of an object's answer as its reader takes them: the next are read when the last were taken, and in a turn of
// their tenant (`tick-turns.ts`).

import type { IncomingMessage } from "node:http";

/** `takeTurn`: to read so many bytes; null: it may read at once. */
export const streamedBytes = (
  answer: IncomingMessage,
  takeTurn: (bytes: number) => Promise<void> | null,
): ReadableStream<Uint8Array> => {
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
  return new ReadableStream(
    {
      pull: async (controller) => {
        const bytes = await next();
        if (bytes !== null) controller.enqueue(bytes);
        else if (answer.complete) controller.close();
        else controller.error(lost);
      },
      cancel: () => void answer.destroy(),
    },
    { highWaterMark: 0 },
  );
};
