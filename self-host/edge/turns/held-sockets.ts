// Connections that are not read for now, because others of their kind were read in this turn of the event loop.

import type { Socket } from "node:net";

/** The first `count` of them are read again. */
export const resumeFirst = (held: Set<Socket>, read: Set<Socket>, count: number): void => {
  let left = count;
  for (const socket of held) {
    if (left === 0) break;
    left -= 1;
    held.delete(socket);
    read.add(socket);
    socket.resume();
  }
};
