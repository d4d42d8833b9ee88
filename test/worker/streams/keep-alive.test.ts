// A connection on which nothing answers any more, as after a change of network.

import { EventEmitter } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { keepAlive } from "../../../worker/streams/keep-alive.ts";

class FakeSocket extends EventEmitter {
  readyState: number = WebSocket.OPEN;
  readonly sent: string[] = [];
  send(text: string): void {
    this.sent.push(text);
  }
  terminate(): void {
    this.readyState = WebSocket.CLOSED;
    this.emit("close");
  }
}

let socket: FakeSocket;
beforeEach(() => {
  vi.useFakeTimers();
  socket = new FakeSocket();
  keepAlive(socket as unknown as WebSocket);
});
afterEach(() => {
  vi.useRealTimers();
});

test("a data line that answers its pings is kept", async () => {
  for (let beat = 0; beat < 20; beat += 1) {
    await vi.advanceTimersByTimeAsync(20_000);
    socket.emit("message", "pong", false);
  }
  expect(socket.readyState).toBe(WebSocket.OPEN);
});

test("a data line on which nothing arrives ends within a minute, and is pinged no more", async () => {
  await vi.advanceTimersByTimeAsync(60_000);
  expect(socket.readyState).toBe(WebSocket.CLOSED);
  expect(socket.sent).toEqual(["ping", "ping"]);
});
