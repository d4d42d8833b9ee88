// Node tells when an answer has ended, however it ends: once, and never before its last byte.

import { once } from "node:events";
import type { Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { onAnswerEnd } from "../../../self-host/edge/answer-end.ts";
import { closeServer, edgeServer } from "../../../self-host/edge/http-server.ts";

let server: Server;
let ended = 0;
let controller: ReadableStreamDefaultController<Uint8Array>;

const bodyOf = (path: string): string | ReadableStream<Uint8Array> | null => {
  if (path === "/empty") return null;
  if (path === "/text") return "hello";
  return new ReadableStream({
    start: (made) => {
      controller = made;
      made.enqueue(new TextEncoder().encode("first"));
    },
  });
};

beforeAll(async () => {
  server = edgeServer((request, exchange) => {
    onAnswerEnd(exchange, () => {
      ended += 1;
    });
    return new Response(bodyOf(new URL(request.url).pathname));
  }, 100);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
beforeEach(() => {
  ended = 0;
});
afterAll(() => closeServer(server, 0));

const ask = async (path: string) => {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await once(socket, "data");
  return socket;
};

it.each(["/empty", "/text"])("an answer that is sent whole: %s", async (path) => {
  const socket = await ask(path);
  await expect.poll(() => ended).toBe(1);
  socket.destroy();
});

it.each([
  ["its end", () => controller.close()],
  ["an error", () => controller.error(new Error("broke"))],
])("a stream, by %s", async (_, end) => {
  const socket = await ask("/stream");
  expect(ended).toBe(0);
  end();
  await expect.poll(() => ended).toBe(1);
  socket.destroy();
});

it("a stream whose client has left, although nothing is written any more", async () => {
  const socket = await ask("/stream");
  expect(ended).toBe(0);
  socket.destroy();
  await expect.poll(() => ended).toBe(1);
});

it("those behind a stream on one connection, when it is lost", async () => {
  const socket = await ask("/stream");
  socket.write(["/text", "/stream", "/empty"].map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(""));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(ended).toBe(0);
  socket.destroy();
  await expect.poll(() => ended).toBe(4);
});
