// A group of what sockets say: any text comes out as it went in, and each socket's in order.

import { describe, expect, it } from "vitest";
import { readSocketGroup, SocketGroupWriter } from "../../../durable-objects/sockets/socket-group.ts";
import { closeReason } from "../../../durable-objects/sockets/tenant-socket.ts";

const TEXTS = ["", "a", "\n", '{"type":"ack"}', "ü€🚂", "ping", null, "x".repeat(10_000)];

/** What each socket has got, in order. */
const perSocket = (message: string): Map<number, (string | null)[]> => {
  const got = new Map<number, (string | null)[]>();
  for (const { text, sockets } of readSocketGroup(message).texts)
    for (const socket of sockets) got.set(socket, [...(got.get(socket) ?? []), text]);
  return got;
};

describe("a group", () => {
  it("keeps each socket's texts in order, whatever the others are sent in between", () => {
    let seed = 7;
    const next = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    const writer = new SocketGroupWriter();
    for (let group = 0; group < 50; group += 1) {
      const sent = new Map<number, (string | null)[]>();
      for (let count = next(200); count >= 0; count -= 1) {
        const [socket, text = null] = [next(5), TEXTS[next(TEXTS.length)]];
        if (text === null || next(2) === 0) writer.add(socket, text);
        else writer.share(socket, text);
        sent.set(socket, [...(sent.get(socket) ?? []), text]);
      }
      expect(perSocket(writer.take().text)).toEqual(sent);
      expect(writer.isEmpty).toBe(true);
    }
  });

  it("has a text once that many sockets are sent in a row", () => {
    const writer = new SocketGroupWriter();
    const text = "x".repeat(1_000);
    for (let socket = 0; socket < 500; socket += 1) writer.share(socket, text);
    expect(writer.isFull).toBe(false);
    const message = writer.take().text;
    expect(message.length).toBeLessThan(5_000);
    expect(readSocketGroup(message).texts).toHaveLength(1);
    expect(perSocket(message).size).toBe(500);
  });

  it("has a text as often as it was said", () => {
    const writer = new SocketGroupWriter();
    for (const socket of [1, 2]) writer.add(socket, "x");
    expect(readSocketGroup(writer.take().text).texts).toHaveLength(2);
  });

  it("is full with a million characters of text, of which a message has some beside it, and the next begins empty", () => {
    const writer = new SocketGroupWriter();
    for (let group = 0; group < 2; group += 1) {
      writer.add(1, "x".repeat(999_743));
      writer.add(2, null);
      writer.share(3, "y");
      expect(writer.isFull).toBe(false);
      writer.share(4, "y");
      expect(writer.isFull).toBe(true);
      writer.take().text;
    }
  });

  it("may be full with less", () => {
    const writer = new SocketGroupWriter(1_000);
    for (let socket = 0; socket < 3; socket += 1) {
      expect(writer.isFull).toBe(false);
      writer.add(socket, "x".repeat(300));
    }
    expect(writer.isFull).toBe(true);
    expect(perSocket(writer.take().text).size).toBe(2);
    expect(perSocket(writer.take().text).size).toBe(1);
  });

  it("has closes with their code and reason", () => {
    const writer = new SocketGroupWriter();
    const close = { socket: 3, code: 4401, reason: 'the "key"\nhas ended' };
    writer.close(close);
    writer.add(3, "last");
    expect(readSocketGroup(writer.take().text)).toEqual({ texts: [{ text: "last", sockets: [3] }], closes: [close] });
  });
});

it("a close has a reason of at most the 123 bytes that the protocol allows", () => {
  expect(Buffer.byteLength(closeReason("ü".repeat(500)))).toBeLessThanOrEqual(123);
  expect(closeReason("the key has ended")).toBe("the key has ended");
});
