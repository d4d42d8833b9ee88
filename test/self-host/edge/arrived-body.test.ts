// Which bodies are there when they are asked for, and that the connection goes on behind each of them.

import { once } from "node:events";
import type { Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { arrivedBody, arrivedBytes } from "../../../self-host/edge/arrived-body.ts";
import { closeServer, edgeServer } from "../../../self-host/edge/http-server.ts";

let server: Server;
/** How much came of the last one that was answered, at most. */
let arrivedOfLast = Number.NaN;
/** How many requests have begun. */
let begun = 0;
beforeAll(async () => {
  server = edgeServer(async (request, { incoming, outgoing }) => {
    begun += 1;
    const arrivedSince = arrivedBytes(incoming);
    outgoing.once("close", () => {
      arrivedOfLast = arrivedSince();
    });
    if (incoming.url === "/unread") return new Response("refused");
    await Promise.resolve();
    const arrived = arrivedBody(incoming);
    const again = arrivedBody(incoming);
    const how = arrived === null ? `late ${(await request.text()).length}` : `arrived ${Buffer.from(arrived)}`;
    return new Response(again === null ? how : "read twice");
  }, 100);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => closeServer(server, 0));

const open = async (): Promise<{ socket: Socket; heard: () => string[] }> => {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    text += chunk;
  });
  await once(socket, "connect");
  return { socket, heard: () => text.match(/(arrived|late|read) .*?(?=HTTP|$)/g) ?? [] };
};

const HEAD = "POST / HTTP/1.1\r\nHost: x\r\n";
const whole = (body: string): string => `${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`;
const LARGE = "x".repeat(300_000);

it.each([
  ["that comes with the head has arrived", [whole("hello")], ["arrived hello"]],
  ["of each of two requests in one packet has arrived", [whole("one") + whole("two")], ["arrived one", "arrived two"]],
  ["behind its head is waited for", [`${HEAD}Content-Length: 5\r\n\r\n`, "hello"], ["late 5"]],
  ["in two parts is waited for", [`${HEAD}Content-Length: 5\r\n\r\nhe`, "llo"], ["late 5"]],
  ["without a length is waited for", [`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`], ["late 5"]],
  ["larger than Node's buffer is waited for", [whole(LARGE)], ["late 300000"]],
])("a body %s", async (_, packets, expected) => {
  const { socket, heard } = await open();
  const before = begun;
  for (const packet of packets) {
    socket.write(packet);
    await expect.poll(() => begun).toBeGreaterThan(before);
  }
  await expect.poll(heard).toEqual(expected);
  socket.write(whole("next"));
  await expect.poll(heard).toEqual([...expected, "arrived next"]);
  socket.destroy();
});

it("of a body that nobody reads nothing has come, of another as much as was read, and little more", async () => {
  const { socket } = await open();
  socket.write("POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: 30000000\r\n\r\n");
  await expect.poll(() => arrivedOfLast).toBe(0);
  socket.destroy();
  const other = await open();
  other.socket.write(whole(LARGE));
  await expect.poll(() => arrivedOfLast).toBeGreaterThanOrEqual(LARGE.length);
  expect(arrivedOfLast).toBeLessThan(LARGE.length + 200_000);
  other.socket.destroy();
});
