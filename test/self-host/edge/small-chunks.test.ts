// Bodies in very many small chunks: whole, in few pieces, and never many at once.

import { once } from "node:events";
import type { Server } from "node:http";
import { type AddressInfo, connect, Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { closeServer, edgeServer } from "../../../self-host/edge/http-server.ts";
import { ChunkTurns } from "../../../self-host/edge/turns/small-chunks.ts";

let server: Server;
/** The pieces in which the last body was read. */
let pieces = 0;
/** All that was read of bodies. */
let bytes = 0;
beforeEach(async () => {
  pieces = 0;
  server = edgeServer(async (request) => {
    let text = "";
    const decoder = new TextDecoder();
    for await (const piece of request.body ?? []) {
      pieces += 1;
      bytes += piece.byteLength;
      text += decoder.decode(piece, { stream: true });
    }
    return new Response(`${text.length} ${text.slice(0, 8)}…${text.slice(-8)}`);
  }, 200);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(() => closeServer(server, 0));

const HEAD = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
const END = "0\r\n\r\n";
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const chunksOf = (text: string): string => [...text].map(chunk).join("");

const open = async (): Promise<Socket> => {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
};

const bodyOfAnswer = async (socket: Socket): Promise<string> => {
  const [answer] = (await once(socket, "data")) as [Buffer];
  return answer.toString("utf8").split("\r\n\r\n")[1] ?? "";
};

it.each([
  ["a few small chunks", chunksOf("small"), "5 small…small"],
  ["50,000 chunks of one byte", chunksOf("abcdefghij".repeat(5_000)), "50000 abcdefgh…cdefghij"],
  [
    "small and large chunks",
    chunksOf("begin") +
      chunk("x".repeat(100_000)) +
      chunksOf("middle") +
      chunk("y".repeat(9_000)) +
      chunksOf("the end"),
    "109018 beginxxx…ythe end",
  ],
])("%s come whole and in their order, and the connection goes on", async (_, body, expected) => {
  const socket = await open();
  socket.write(HEAD + body + END);
  expect(await bodyOfAnswer(socket)).toBe(expected);
  expect(pieces).toBeLessThan(30);
  socket.write(HEAD + chunksOf("next") + END);
  expect(await bodyOfAnswer(socket)).toBe("4 next…next");
  socket.destroy();
});

it("a small chunk is not kept until the next one comes", async () => {
  const socket = await open();
  socket.write(HEAD);
  for (const sent of [1, 2, 3]) {
    socket.write(chunk("x"));
    await expect.poll(() => pieces).toBe(sent);
  }
  socket.write(END);
  expect(await bodyOfAnswer(socket)).toBe("3 xxx…xxx");
  socket.destroy();
});

it("clients that send tiny chunks as fast as they are taken keep no other waiting", async () => {
  const tiny = Buffer.from(chunksOf("x".repeat(10_000)));
  const clients = await Promise.all(Array.from({ length: 24 }, open));
  for (const client of clients) {
    client.write(HEAD);
    const send = (): void => {
      while (!client.destroyed && client.write(tiny));
    };
    client.on("drain", send);
    send();
  }
  // Each is read once before it waits.
  await pause(1_000);
  const [before, fromAt] = [bytes, performance.now()];
  await pause(2_000);
  const bytesAMs = (bytes - before) / (performance.now() - fromAt);
  for (const client of clients) client.destroy();
  expect(bytesAMs).toBeGreaterThan(0);
  expect(bytesAMs).toBeLessThan(50);
});

it("a connection that sends many such bodies before their answers is cut off", async () => {
  const socket = await open();
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write((HEAD + chunksOf("x".repeat(5_000)) + END).repeat(40));
  await closed;
});

it("bodies wait in the order of their owners, each for as long as its chunks say", () => {
  vi.useFakeTimers();
  try {
    const turns = new ChunkTurns();
    const gone: string[] = [];
    for (const name of ["a1", "a2", "a3", "b1"])
      turns.wait(new Socket(), name.slice(0, 1), 10_000, () => gone.push(name));
    vi.advanceTimersByTime(299);
    expect(gone).toEqual([]);
    vi.advanceTimersByTime(301);
    expect(gone).toEqual(["a1", "b1"]);
    vi.advanceTimersByTime(600);
    expect(gone).toEqual(["a1", "b1", "a2", "a3"]);
  } finally {
    vi.useRealTimers();
  }
});
