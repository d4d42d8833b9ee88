// Calls to a process of ours: each gets its own answer, or hears at once that there is none.

import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ProcessAway } from "../../../self-host/edge/process-away.ts";
import { TextConnections } from "../../../self-host/edge/text-connections.ts";
import { folderForEachTest } from "../../support/temporary-folder.ts";

const folder = folderForEachTest();
let connections: TextConnections;
let server: Server;
let opened = 0;
/** How the process answers a request. */
let answer: (socket: Socket, request: string) => unknown;

const textAnswer = (text: string): Buffer =>
  Buffer.from(
    `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(text)}\r\nContent-Type: text/plain\r\n\r\n${text}`,
  );

beforeEach(async () => {
  opened = 0;
  server = createServer((socket) => {
    opened += 1;
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => answer(socket, String(bytes)));
  });
  server.listen(path.join(folder.path, "door.sock"));
  await once(server, "listening");
  connections = new TextConnections(path.join(folder.path, "door.sock"));
});

afterEach(async () => {
  connections.close();
  server.close();
});

describe("a call", () => {
  it("is a request with its body and the body's length in bytes", async () => {
    answer = (socket, request) => socket.write(textAnswer(request));
    expect((await connections.post("/query", "größe")).split("\r\n")).toEqual([
      "POST /query HTTP/1.1",
      "host: workerd",
      "content-length: 7",
      "",
      "größe",
    ]);
  });

  it("gets its whole answer, wherever the answer is cut", async () => {
    const bytes = textAnswer("größe 10 €");
    for (let cut = 1; cut < bytes.length; cut += 7) {
      answer = async (socket) => {
        socket.write(bytes.subarray(0, cut));
        await pause(1);
        socket.write(bytes.subarray(cut));
      };
      expect(await connections.post("/", "")).toBe("größe 10 €");
    }
    expect(opened).toBe(1);
  });

  it("takes no connection that the process may be about to close: workerd ends idle ones after 15 seconds", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      answer = (socket) => socket.write(textAnswer("ok"));
      await connections.post("/", "");
      vi.advanceTimersByTime(9_000);
      await connections.post("/", "");
      expect(opened).toBe(1);
      vi.advanceTimersByTime(14_999);
      await connections.post("/", "");
      expect(opened).toBe(2);
    } finally {
      vi.useRealTimers();
    }
  });

  it("has a connection of its own while it waits, and the next one uses it again", async () => {
    answer = async (socket, request) => {
      if (request.endsWith("slow")) await pause(20);
      socket.write(textAnswer(request.slice(-4)));
    };
    const both = [connections.post("/", "slow"), connections.post("/", "fast")];
    expect(await Promise.race(both)).toBe("fast");
    expect(await Promise.all(both)).toEqual(["slow", "fast"]);
    expect(await connections.post("/", "next")).toBe("next");
    expect(opened).toBe(2);
  });

  it.each([
    ["closes without an answer", (socket: Socket) => socket.end()],
    ["dies within its answer", (socket: Socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")],
    ["answers without a length", (socket: Socket) => socket.write("HTTP/1.1 200 OK\r\n\r\n")],
    ["answers more than it was asked", (socket: Socket) => socket.write(`${textAnswer("one")}${textAnswer("two")}`)],
  ])("to a process that %s may be tried again, on a new connection", async (_, behave) => {
    answer = behave;
    await expect(connections.post("/", "")).rejects.toMatchObject({ retryable: true });
    answer = (socket) => socket.write(textAnswer("again"));
    expect(await connections.post("/", "")).toBe("again");
    expect(opened).toBe(2);
  });

  it("to a process that has restarted meanwhile opens a new connection", async () => {
    // The process's end closes when ours has heard that nothing more comes.
    const left = Promise.withResolvers<void>();
    answer = (socket) => socket.once("close", left.resolve).end(textAnswer("last"));
    expect(await connections.post("/", "")).toBe("last");
    await left.promise;
    answer = (socket) => socket.write(textAnswer("first"));
    expect(await connections.post("/", "")).toBe("first");
  });

  it("to a process that is not there may be tried again", async () => {
    const nobody = new TextConnections(path.join(folder.path, "nobody.sock"));
    await expect(nobody.post("/", "")).rejects.toBeInstanceOf(ProcessAway);
    nobody.close();
  });

  it("that still waits when the server stops is told so", async () => {
    const asked = Promise.withResolvers<void>();
    answer = () => asked.resolve();
    const waiting = connections.post("/", "");
    await asked.promise;
    connections.close();
    await expect(waiting).rejects.toMatchObject({ retryable: true });
  });
});
