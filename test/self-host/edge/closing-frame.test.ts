// When the server ends a WebSocket, the client gets the reason, and the connection ends, whatever the client does.

import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { CloseWatch } from "../../../self-host/edge/frames/closing-frame.ts";
import { eventually } from "../../support/eventually.ts";
import { tenantForTests } from "../../support/shared-server.ts";

/** The code 4401, which is no text. */
const KEY_ENDED = Buffer.from([0x11, 0x31]);
const CLOSE = Buffer.from([0x88, 0x04, 0x11, 0x31, 0x6f, 0x6b]);

const textFrame = (length: number): Buffer => {
  const payload = Buffer.alloc(length, 0x88);
  if (length < 126) return Buffer.concat([Buffer.from([0x81, length]), payload]);
  const header = Buffer.alloc(length < 65_536 ? 4 : 10);
  header[0] = 0x81;
  header[1] = length < 65_536 ? 126 : 127;
  if (length < 65_536) header.writeUInt16BE(length, 2);
  else header.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([header, payload]);
};

/** After how many bytes, in pieces, a close frame has passed; null if none has. */
const closedAfter = (bytes: Buffer, pieceBytes: number): number | null => {
  const watch = new CloseWatch();
  for (let at = 0; at < bytes.length; at += pieceBytes)
    if (watch.hasPassed(bytes.subarray(at, at + pieceBytes))) return Math.min(bytes.length, at + pieceBytes);
  return null;
};

describe("a close frame to the client", () => {
  test.each([1, 3, 70_000, 1_000_000])("is found when it has passed and not before, in pieces of %i bytes", (piece) => {
    const frames = Buffer.concat([textFrame(0), textFrame(5), textFrame(126), textFrame(66_000)]);
    expect(closedAfter(frames, piece)).toBe(null);
    const closed = Buffer.concat([frames, CLOSE]);
    expect(closedAfter(closed, piece)).toBe(closed.length);
  });
});

const REQUEST_TO_UPGRADE = [
  "GET /api/workers/w/stream HTTP/1.1",
  "Host: x",
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  `Sec-WebSocket-Key: ${Buffer.alloc(16).toString("base64")}`,
];

/** A data line, which the object holds, on which nothing is ever said, not even that the close is heard. */
const openSilent = async (url: string, key: string) => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let heard = Buffer.alloc(0);
  socket.on("data", (bytes: Buffer) => {
    heard = Buffer.concat([heard, bytes]);
  });
  let isEnded = false;
  socket.on("end", () => {
    isEnded = true;
  });
  socket.write([...REQUEST_TO_UPGRADE, `Authorization: Bearer ${key}`, "", ""].join("\r\n"));
  await eventually(() => expect(heard.toString()).toContain("101 Switching Protocols"));
  return { heard: () => heard, isEnded: () => isEnded };
};

test("a data line on which nothing is ever said hears that its key has ended, and its connection ends", async () => {
  const server = await tenantForTests();
  try {
    const headers = { authorization: `Bearer ${server.adminKey}`, "content-type": "application/json" };
    const made = await fetch(`${server.url}/api/keys`, {
      method: "POST",
      headers,
      body: JSON.stringify({ name: "worker", role: "worker" }),
    });
    const { id, key } = (await made.json()) as { id: string; key: string };
    await fetch(`${server.url}/presence`, {
      method: "POST",
      headers: { ...headers, authorization: `Bearer ${key}` },
      body: JSON.stringify({ instance: "w", status: "online", tags: "", provider: "p" }),
    });
    const { heard, isEnded } = await openSilent(server.url, key);
    await fetch(`${server.url}/api/keys/${id}`, { method: "DELETE", headers });
    await eventually(() => expect(isEnded()).toBe(true));
    expect(heard().includes(KEY_ENDED)).toBe(true);
  } finally {
    await server.close();
  }
}, 120_000);
