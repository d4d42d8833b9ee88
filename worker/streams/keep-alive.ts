// Pings the data line, so that no proxy cuts it as idle, and ends it when nothing answers: after a change of network or
// a night's sleep the system would take a quarter of an hour to notice, and until then every stream would be lost.

import { WebSocket } from "ws";

const PING_EVERY_MS = 15_000;
/** A slow uplink full of output may delay a pong, so one missing pong is not enough. */
const MAX_UNANSWERED = 2;

export const keepAlive = (socket: WebSocket): void => {
  let unanswered = 0;
  const beat = () => {
    if (unanswered >= MAX_UNANSWERED) {
      socket.terminate();
      return;
    }
    unanswered += 1;
    if (socket.readyState === WebSocket.OPEN) socket.send("ping");
  };
  // Timers run before I/O: what arrived while this process was busy is read first.
  const pings = setInterval(() => setImmediate(beat), PING_EVERY_MS);
  pings.unref();
  socket.on("message", () => {
    unanswered = 0;
  });
  socket.once("close", () => clearInterval(pings));
};
