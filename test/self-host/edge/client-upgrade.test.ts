// Clients' WebSockets at the server in Node: handshakes, compression, and clients that send or keep too much.

import { once } from "node:events";
import type { Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import WebSocket, { type ClientOptions } from "ws";
import { MAX_FRAME_BYTES } from "../../../contract/socket.ts";
import { type ClientSocket, MAX_PONGS } from "../../../self-host/edge/client-sockets.ts";
import { readHandshake } from "../../../self-host/edge/client-upgrade.ts";
import { FRAMES_A_SECOND, FramePaces } from "../../../self-host/edge/frames/frame-paces.ts";
import { HeldFrames } from "../../../self-host/edge/frames/held-frames.ts";
import { closeServer, edgeServer } from "../../../self-host/edge/http-server.ts";
import { alreadySent } from "../../../self-host/edge/pass-on.ts";
import { problemResponse, type Refused } from "../../../src/http/refused.ts";

let server: Server;
let upgraded: ClientSocket[] = [];
let heard: (string | null)[] = [];
let held: HeldFrames;
let paces: FramePaces;
let closes: { code: number; reason: string }[] = [];

beforeEach(async () => {
  // Those of the test before may still close.
  const [texts, ends]: [typeof heard, typeof closes] = [[], []];
  upgraded = [];
  held = new HeldFrames();
  paces = new FramePaces();
  heard = texts;
  closes = ends;
  server = edgeServer(async (request, exchange) => {
    try {
      const socket = readHandshake(
        exchange,
        "the id",
        request.url.endsWith("/live"),
      )({
        hold: (reading) => held.open("a", reading),
        pace: () => paces.open("a"),
      });
      socket?.listen(
        (text) => texts.push(text),
        (code, reason) => ends.push({ code, reason }),
      );
      if (socket !== null) upgraded.push(socket);
      return alreadySent();
    } catch (error) {
      return problemResponse((error as Refused).refusal, "the id");
    }
  }, 100);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(() => closeServer(server, 0));

const port = (): number => (server.address() as AddressInfo).port;
const open = async (path: string, options: ClientOptions = {}): Promise<WebSocket> => {
  const socket = new WebSocket(`ws://127.0.0.1:${port()}${path}`, options);
  socket.on("error", () => undefined);
  await once(socket, "open");
  return socket;
};

it("frames go both ways, and a frame that is not text is only known as such", async () => {
  const client = await open("/worker");
  client.send("größe");
  client.send(Buffer.from([1, 2]));
  await expect.poll(() => heard).toEqual(["größe", null]);
  upgraded[0]?.send(new TextEncoder().encode("€"));
  const [data, isBinary] = await once(client, "message");
  expect([String(data), isBinary]).toEqual(["€", false]);
});

it("very many frames are read later, and none is lost", async () => {
  const client = await open("/worker");
  const count = 2 * FRAMES_A_SECOND;
  for (let sent = 0; sent < count; sent += 1) client.send("x");
  await expect.poll(() => heard.length, { interval: 5 }).toBeGreaterThan(FRAMES_A_SECOND / 4 - 1);
  expect(heard.length).toBeLessThan(count);
  await expect.poll(() => heard.length).toBe(count);
});

it("few of very many pings are answered", async () => {
  const client = await open("/worker");
  let pongs = 0;
  client.on("pong", () => {
    pongs += 1;
  });
  for (let sent = 0; sent < 100; sent += 1) client.ping();
  client.send("behind them");
  await expect.poll(() => heard).toEqual(["behind them"]);
  await expect.poll(() => pongs).toBe(MAX_PONGS);
});

it("the answer has the request's id, and chooses no protocol", async () => {
  const client = new WebSocket(`ws://127.0.0.1:${port()}/worker`);
  const [{ headers }] = await once(client, "upgrade");
  expect(headers["x-request-id"]).toBe("the id");
  const raw = connect(port(), "127.0.0.1");
  raw.write(
    "GET /worker HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" +
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: a, b\r\n\r\n",
  );
  const [answer] = await once(raw, "data");
  expect(String(answer)).toMatch(/^HTTP\/1\.1 101 /);
  expect(String(answer).toLowerCase()).not.toContain("protocol:");
  raw.destroy();
});

it("a viewer's frames are compressed if it offers that, a worker's are not", async () => {
  expect((await open("/live")).extensions).toBe("permessage-deflate");
  expect((await open("/worker")).extensions).toBe("");
  expect((await open("/live", { perMessageDeflate: false })).extensions).toBe("");
});

it.each([
  ["without a key", "Sec-WebSocket-Version: 13"],
  ["of another version", "Sec-WebSocket-Version: 99\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="],
  ["of an older version", "Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="],
  ["with a body", "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nContent-Length: 5"],
])("a handshake %s is refused with a problem document", async (_, headers) => {
  const raw = connect(port(), "127.0.0.1");
  raw.write(`GET /live HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${headers}\r\n\r\n`);
  let text = "";
  raw.on("data", (chunk) => {
    text += chunk;
  });
  await once(raw, "close");
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
  expect(text).toContain('"code":"invalid_request"');
  expect(upgraded).toEqual([]);
});

it("a frame that cannot be one of the contract's is not read to its end", async () => {
  const client = await open("/worker");
  client.send("x".repeat(3 * MAX_FRAME_BYTES + 1));
  const [code] = await once(client, "close");
  expect(code).toBe(1009);
  expect(heard).toEqual([]);
  await expect.poll(() => closes).toHaveLength(1);
});

it("a frame that unpacks to more than that is not read to its end either", async () => {
  const client = await open("/live");
  client.send("x".repeat(100_000_000));
  const [code] = await once(client, "close");
  expect(code).toBe(1009);
});

it("a close tells its code and reason, in either direction", async () => {
  const one = await open("/worker");
  one.close(4000, "from the client");
  await expect.poll(() => closes).toEqual([{ code: 4000, reason: "from the client" }]);
  const other = await open("/worker");
  upgraded[1]?.close(4401, "the key has ended");
  const [code, reason] = await once(other, "close");
  expect([code, String(reason)]).toEqual([4401, "the key has ended"]);
});

it("a client that answers no close is cut off", async () => {
  const client = await open("/worker");
  client.pause();
  upgraded[0]?.close(4401, "the key has ended");
  await expect.poll(() => closes).toHaveLength(1);
});

it("a client that leaves too much unread is cut off, and no other", async () => {
  const [slow, quick] = [await open("/worker"), await open("/worker")];
  slow.pause();
  const part = new Uint8Array(1_000_000);
  const partsRead: unknown[] = [];
  quick.on("message", (data) => partsRead.push(data));
  for (let count = 0; count < 40; count += 1) {
    for (const socket of upgraded) socket.send(part);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await expect.poll(() => closes).toMatchObject([{ code: 1006 }]);
  await expect.poll(() => partsRead.length).toBe(40);
});

it("a client that is paused says nothing until it is resumed", async () => {
  const client = await open("/worker");
  upgraded[0]?.pause();
  await new Promise((resolve) => client.send("waits", resolve));
  // Another's frame, sent later, comes meanwhile.
  (await open("/worker")).send("comes");
  await expect.poll(() => heard).toEqual(["comes"]);
  upgraded[0]?.resume();
  await expect.poll(() => heard).toEqual(["comes", "waits"]);
});
