// A stream that is a client's answer is written to the client itself, as fast as that takes it.

import { once } from "node:events";
import { createServer, get, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect, Socket } from "node:net";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { pourOut, ReadStream } from "../../../self-host/edge/read-stream.ts";
import { eventually } from "../../support/eventually.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const EVENTS = { "content-type": "text/event-stream", "x-more": "yes" };

let server: Server;
let stream: ReadStream;
let took = 0;
const left = vi.fn();
const begun = vi.fn();

beforeEach(async () => {
  took = 0;
  left.mockReset();
  begun.mockReset();
  const tools = {
    left,
    took: (bytes: number) => {
      took += bytes;
    },
  };
  stream = new ReadStream((last) => `after ${last}`, tools);
  stream.begin();
  server = createServer(async (incoming, outgoing) => {
    incoming.method = "POST";
    const answer = await pourOut(new Response(stream.body, { headers: EVENTS }), { incoming, outgoing });
    begun(answer.headers.get("x-hono-already-sent"));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const ask = async (): Promise<IncomingMessage> => {
  const asked = get({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", path: "/v1/chat/completions" });
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  return answer;
};
const textOf = async (answer: IncomingMessage): Promise<string> => {
  let text = "";
  for await (const bytes of answer) text += String(bytes);
  return text;
};

it("comes whole with its headers, and ends", async () => {
  stream.give(bytesOf("data: 1\n\n"));
  const answer = await ask();
  stream.give(bytesOf("data: 2\n\n"));
  stream.end();
  expect(await textOf(answer)).toBe("data: 1\n\ndata: 2\n\n");
  expect([answer.statusCode, answer.headers]).toMatchObject([200, EVENTS]);
  expect(begun).toHaveBeenCalledWith("true");
});

it("begins before its first piece, and ends behind a whole event where it breaks off", async () => {
  const answer = await ask();
  stream.give(bytesOf("data: 1\n\ndata: ha"));
  stream.break(new Error("the process died"));
  expect(await textOf(answer)).toBe("data: 1\n\nafter data: 1\n\n");
});

it("is taken no faster than its client reads, and is left with it", async () => {
  const answer = await ask();
  answer.pause();
  for (let count = 0; count < 1_000; count += 1) stream.give(bytesOf(`data: ${"x".repeat(64 * 1024)}\n\n`));
  await new Promise((resolve) => setTimeout(resolve, 50));
  const untaken = 1_000 * 64 * 1024 - took;
  expect(untaken).toBeGreaterThan(32 * 1024 * 1024);
  answer.resume();
  await eventually(() => expect(took).toBeGreaterThan(1_000 * 64 * 1024));
  expect(left).not.toHaveBeenCalled();
  answer.destroy();
  await eventually(() => expect(left).toHaveBeenCalled());
});

it("comes in one write a piece behind the first", async () => {
  const writes = vi.spyOn(Socket.prototype, "write");
  const answer = await ask();
  stream.give(bytesOf("data: 1\n\n"));
  await eventually(() => expect(took).toBeGreaterThan(0));
  writes.mockClear();
  stream.give(bytesOf("data: 2\n\n"));
  expect(writes.mock.calls.map(([chunk]) => String(chunk))).toEqual(["9\r\ndata: 2\n\n\r\n"]);
  stream.end();
  expect(await textOf(answer)).toBe("data: 1\n\ndata: 2\n\n");
  writes.mockRestore();
});

it("has no chunks for a client that knows none", async () => {
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.write("GET /v1/chat/completions HTTP/1.0\r\n\r\n");
  for (const number of [1, 2]) stream.give(bytesOf(`data: ${number}\n\n`));
  stream.end();
  let text = "";
  for await (const bytes of client) text += String(bytes);
  expect(text.split("\r\n\r\n")[1]).toBe("data: 1\n\ndata: 2\n\n");
});
