// A request's bytes on their way to an object.

import { poured } from "../../durable-objects/files/pour.ts";

/**
 * Sends pieces on as they come. An error in them ends the stream early, and is thrown once the receiver has the pieces
 * before it, which the caller must drop. Thrown inside the stream, it would not reach the client.
 */
export const sendOn = async <T>(
  pieces: AsyncIterable<Uint8Array>,
  send: (body: ReadableStream<Uint8Array>) => Promise<T>,
): Promise<T> => {
  let fault: unknown = null;
  async function* untilFault(): AsyncGenerator<Uint8Array> {
    try {
      yield* pieces;
    } catch (error) {
      fault = error;
    }
  }
  const { body, done } = poured(untilFault());
  // A receiver may answer before it has all: the rest is then not taken, and its answer tells why.
  const [sent] = await Promise.all([send(body), done.catch(() => undefined)]);
  if (fault !== null) throw fault;
  return sent;
};

const STEP_BYTES = 16 * 1024 * 1024;

/**
 * Asks for more room as pieces of unknown length come, up to a bound that the receiver keeps. The first step is free: most
 * are smaller, and many come at the same time.
 */
export async function* takingRoom(
  pieces: AsyncIterable<Uint8Array>,
  maxBytes: number,
  take: (bytes: number) => Promise<unknown>,
): AsyncGenerator<Uint8Array> {
  let [come, taken] = [0, STEP_BYTES];
  for await (const piece of pieces) {
    come += piece.byteLength;
    if (come > taken && taken < maxBytes) {
      taken = Math.min(come + STEP_BYTES, maxBytes);
      await take(taken);
    }
    yield piece;
  }
}
