// The body of a request that has arrived before it is asked for: most clients send head and body in one packet. It is
// then read without listeners, a timer or a copy. And how much of a body has come.

import type { IncomingMessage } from "node:http";

/**
 * Null if some of it is still to come, or if its length is not declared. What has arrived is bounded by Node's buffer
 * of a stream.
 */
export const arrivedBody = (incoming: IncomingMessage): Uint8Array | null => {
  const declared = Number(incoming.headers["content-length"]);
  if (incoming.readableLength !== declared || incoming.readableDidRead) return null;
  const body = incoming.read() as Buffer;
  // Its end arrives separately.
  incoming.resume();
  return body;
};

/** As much as a socket is read at once. */
const MAX_READ_BYTES = 64 * 1024;

/** Tells, when it is called, how much of the body has come since at most; 0 if nobody has read of it. */
export const arrivedBytes = (incoming: IncomingMessage): (() => number) => {
  const { socket, readableLength } = incoming;
  const { bytesRead } = socket;
  const before = readableLength + MAX_READ_BYTES;
  return () => (incoming.readableDidRead ? before + socket.bytesRead - bytesRead : 0);
};
