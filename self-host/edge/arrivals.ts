// New connections begin a few at a time, between the requests of those that are open: a client that opens a thousand at
// once keeps no other waiting.

import type { Server } from "node:http";
import type { Socket } from "node:net";

const BEGUN_AT_ONCE = 8;

/** Call it before other listeners for connections are added. They wait unread; the server's `maxConnections` bounds them. */
export const beginFewAtOnce = (server: Server, atOnce: number = BEGUN_AT_ONCE): void => {
  const begin = server.listeners("connection") as ((socket: Socket) => void)[];
  server.removeAllListeners("connection");
  (server as Server & { pauseOnConnect: boolean }).pauseOnConnect = true;
  const waiting: Socket[] = [];
  let begun = 0;
  const start = (socket: Socket): void => {
    begun += 1;
    for (const one of begin) one.call(server, socket);
    socket.resume();
  };
  const nextRound = (): void => {
    begun = 0;
    for (const socket of waiting.splice(0, atOnce)) if (!socket.destroyed) start(socket);
    if (begun > 0 || waiting.length > 0) setImmediate(nextRound);
  };
  server.on("connection", (socket: Socket) => {
    if (begun === 0) setImmediate(nextRound);
    if (begun < atOnce && waiting.length === 0) start(socket);
    else waiting.push(socket);
  });
};
