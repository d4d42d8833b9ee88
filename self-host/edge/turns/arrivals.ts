// New connections begin a few at a time, between the requests of open ones, and in each turn of the event loop the first
// request of one of them is read. So a client that opens a thousand at once keeps no other waiting, even if it sends all
// its requests after they have opened.

import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { resumeFirst } from "./held-sockets.ts";

const BEGUN_AT_ONCE = 2;
/** First requests that are read in one turn: another's call takes three turns or more, and waits as often for these. */
export const HEARD_AT_ONCE = 1;

/** Call it before other listeners for connections are added. They wait unread; the server's `maxConnections` bounds them. */
export const beginFewAtOnce = (server: Server, atOnce: number = BEGUN_AT_ONCE): void => {
  const begin = server.listeners("connection") as ((socket: Socket) => void)[];
  server.removeAllListeners("connection");
  (server as Server & { pauseOnConnect: boolean }).pauseOnConnect = true;
  const silent = hearFewAtOnce(server);
  const waiting: Socket[] = [];
  let begun = 0;
  const start = (socket: Socket): void => {
    begun += 1;
    silent.add(socket);
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

/** Where those that have begun are added. */
const hearFewAtOnce = (server: Server): { add: (socket: Socket) => void } => {
  /** They are read, and have asked nothing yet. */
  const silent = new Set<Socket>();
  /** Silent ones that are not read. One that was read again and asked nothing goes to the end: others come first. */
  const held = new Set<Socket>();
  let heard = 0;
  const nextTurn = (): void => {
    heard = 0;
    resumeFirst(held, silent, HEARD_AT_ONCE);
    if (held.size > 0) setImmediate(nextTurn);
  };
  const hear = (socket: Socket): void => {
    if (!silent.delete(socket)) return;
    if (heard === 0 && held.size === 0) setImmediate(nextTurn);
    heard += 1;
    if (heard !== HEARD_AT_ONCE) return;
    for (const one of silent) {
      held.add(one);
      one.pause();
    }
    silent.clear();
  };
  for (const event of ["request", "upgrade"]) server.on(event, ({ socket }: IncomingMessage) => hear(socket));
  return {
    add: (socket) => {
      silent.add(socket);
      socket.once("close", () => silent.delete(socket) || held.delete(socket));
    },
  };
};
