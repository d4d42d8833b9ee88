// Connections of one owner (`turn-owner.ts`) end a few in each turn of the event loop: a client that closes a thousand at
// once keeps no other waiting. The rest of them are not read meanwhile, so that their ends come later.

import type { Socket } from "node:net";

const ENDED_AT_ONCE = 16;

interface Departures {
  /** The connection asks for this owner. */
  readonly note: (socket: Socket, owner: string) => void;
  /** Its connection belongs to another protocol now. */
  readonly forget: (socket: Socket) => void;
}

/** `connections`: all that are open. */
export const endFewAtOnce = (connections: Iterable<Socket>, atOnce: number = ENDED_AT_ONCE): Departures => {
  const ownerOf = new WeakMap<Socket, string>();
  const watched = new WeakSet<Socket>();
  /** How many ended in this turn, by owner. */
  const ended = new Map<string, number>();
  /** Those that are not read, by owner. */
  const held = new Map<string, Socket[]>();
  const nextTurn = (): void => {
    ended.clear();
    for (const [owner, sockets] of held) {
      for (const socket of sockets.splice(0, atOnce)) socket.resume();
      if (sockets.length === 0) held.delete(owner);
    }
    if (held.size > 0) setImmediate(nextTurn);
  };
  const hold = (owner: string): void => {
    if (held.has(owner)) return;
    const rest = [...connections].filter((one) => ownerOf.get(one) === owner && !one.isPaused());
    for (const one of rest) one.pause();
    if (rest.length > 0) held.set(owner, rest);
  };
  const end = (socket: Socket): void => {
    const owner = ownerOf.get(socket);
    if (owner === undefined) return;
    ownerOf.delete(socket);
    if (ended.size === 0 && held.size === 0) setImmediate(nextTurn);
    const count = (ended.get(owner) ?? 0) + 1;
    ended.set(owner, count);
    if (count === atOnce) hold(owner);
  };
  return {
    note: (socket, owner) => {
      ownerOf.set(socket, owner);
      if (watched.has(socket)) return;
      watched.add(socket);
      // Its close comes only when all that ended in the same turn have been read.
      for (const event of ["end", "error"]) socket.once(event, () => end(socket));
    },
    forget: (socket) => void ownerOf.delete(socket),
  };
};
