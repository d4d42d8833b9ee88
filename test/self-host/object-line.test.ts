// Groups of calls on a line to an object: each gets its own answer, or hears at once that there is none.

import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { readNumbered } from "../../durable-objects/object-line.ts";
import { PrivateLine } from "../../scripts/self-host/edge/private-line.ts";
import { TextReader, textFrame } from "../../scripts/self-host/edge/websocket-frame.ts";

const OBJECT = "/TENANT/t/fetch";

let folder = "";
let server: Server;
let line: PrivateLine;
let upgrades: { url: string | undefined; headers: Record<string, unknown> }[] = [];
let sockets: WebSocket[] = [];
/** How an object answers a message. */
let answer: (socket: WebSocket, message: string) => void;

/** As an object that returns each group. */
const echo = (socket: WebSocket, message: string): void => socket.send(message);
const ended = (): number => sockets.filter(({ readyState }) => readyState > 1).length;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "object-line-"));
  upgrades = [];
  sockets = [];
  answer = echo;
  server = createServer();
  new WebSocketServer({ server }).on("connection", (socket, { url, headers }) => {
    upgrades.push({ url, headers });
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.on("message", (message) => answer(socket, String(message)));
  });
  server.listen(path.join(folder, "door.sock"));
  await once(server, "listening");
  line = new PrivateLine(path.join(folder, "door.sock"), { authorization: "secret" });
});

afterEach(() => {
  line.close();
  server.close();
  for (const socket of sockets) socket.terminate();
  rmSync(folder, { recursive: true, force: true });
});

const group = (text: string): string => JSON.stringify([{ value: text }]);
const send = (text: string, to = OBJECT): Promise<unknown> => line.sendGroup(to, group(text));

describe("a group", () => {
  it("opens the line with the secret, and the next one uses it", async () => {
    expect(await send("one")).toEqual([{ value: "one" }]);
    expect(await send("two")).toEqual([{ value: "two" }]);
    expect(upgrades).toMatchObject([
      { url: OBJECT, headers: { authorization: "secret", "x-signalbox-url": "https://tenant/line" } },
    ]);
  });

  it("gets its own answer, whichever comes first", async () => {
    const held: (() => void)[] = [];
    answer = (socket, message) => held.push(() => echo(socket, message));
    const both = [send("one"), send("two")];
    await expect.poll(() => held.length).toBe(2);
    for (const release of held.reverse()) release();
    expect(await Promise.all(both)).toEqual([[{ value: "one" }], [{ value: "two" }]]);
    expect(sockets).toHaveLength(1);
  });

  it.each([0, 100, 126, 65_500, 65_536, 3_000_000])("of %i characters comes and goes whole", async (length) => {
    const text = "ü".repeat(length);
    expect(await send(text)).toEqual([{ value: text }]);
  });

  it("goes to its own object", async () => {
    await Promise.all([send("one"), send("two", "/TENANT/other/fetch")]);
    expect(upgrades.map(({ url }) => url).sort()).toEqual(["/TENANT/other/fetch", OBJECT]);
  });

  it.each([
    ["ends the line", (socket: WebSocket) => socket.close()],
    ["dies", (socket: WebSocket) => socket.terminate()],
    ["answers something else", (socket: WebSocket) => socket.send("99\n[]")],
    ["answers in binary", (socket: WebSocket, message: string) => socket.send(Buffer.from(message))],
    ["answers in parts", (socket: WebSocket, message: string) => socket.send(message, { fin: false })],
  ])("to an object that %s fails with all that wait there, and the next one opens another", async (_, behave) => {
    let heard = 0;
    answer = (socket, message) => {
      heard += 1;
      if (heard === 2) behave(socket, message);
    };
    const [one, two] = await Promise.allSettled([send("one"), send("two")]);
    for (const sent of [one, two]) expect(sent).toMatchObject({ status: "rejected", reason: { retryable: true } });
    answer = echo;
    expect(await send("three")).toEqual([{ value: "three" }]);
    expect(upgrades).toHaveLength(2);
  });

  it("to a process that opens no line may be tried again", async () => {
    server.prependListener("upgrade", (_request, socket: Socket) => socket.end("HTTP/1.1 404 Not Found\r\n\r\n"));
    await expect(send("one")).rejects.toMatchObject({ retryable: true });
  });

  it("to a process that is not there may be tried again", async () => {
    const nobody = new PrivateLine(path.join(folder, "nobody.sock"));
    await expect(nobody.sendGroup(OBJECT, "[]")).rejects.toMatchObject({ retryable: true });
    nobody.close();
  });

  it("that still waits when the server stops is told so", async () => {
    answer = () => undefined;
    const waiting = send("one");
    await expect.poll(() => sockets.length).toBe(1);
    line.close();
    await expect(waiting).rejects.toMatchObject({ retryable: true });
  });
});

describe("a line", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["performance", "setInterval", "clearInterval"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("that nobody has used for ten seconds ends, so that its object may sleep; another stays", async () => {
    await send("one");
    vi.advanceTimersByTime(8_000);
    await send("one", "/TENANT/other/fetch");
    expect(ended()).toBe(0);
    vi.advanceTimersByTime(7_001);
    await expect.poll(ended).toBe(1);
    await send("two", "/TENANT/other/fetch");
    expect(upgrades).toHaveLength(2);
    await send("two");
    expect(upgrades).toHaveLength(3);
  });

  it("with a group under way stays, until its process has said nothing for a minute", async () => {
    answer = (socket, message) => (message.includes("slow") ? undefined : echo(socket, message));
    const slow = send("slow").catch((error: unknown) => error);
    for (let seconds = 0; seconds < 60; seconds += 10) {
      expect(await send("vital")).toEqual([{ value: "vital" }]);
      vi.advanceTimersByTime(10_000);
    }
    expect(ended()).toBe(0);
    vi.advanceTimersByTime(10_000);
    expect(await slow).toMatchObject({ message: "the process does not answer", retryable: true });
  });

  it("that was not used for longest makes room where there are many", async () => {
    for (let count = 0; count < 200; count += 1) await send("one", `/TENANT/t${count}/fetch`);
    await send("two", "/TENANT/t0/fetch");
    expect(ended()).toBe(0);
    await send("one", "/TENANT/t200/fetch");
    await expect.poll(ended).toBe(1);
    expect(upgrades).toHaveLength(201);
    expect(sockets[1]?.readyState).toBeGreaterThan(1);
  });
});

describe("frames", () => {
  /** As a server sends them, without a mask. */
  const unmasked = (text: string): Buffer => {
    const frame = textFrame(text);
    const payload = Buffer.from(text);
    const header = Buffer.from(frame.subarray(0, frame.length - payload.length - 4));
    header[1] = (header[1] ?? 0) & 0x7f;
    return Buffer.concat([header, payload]);
  };

  it("are read wherever they are cut", () => {
    const texts = ["", "größe", "x".repeat(125), "x".repeat(126), "€".repeat(400), "y".repeat(70_000)];
    const bytes = Buffer.concat(texts.map(unmasked));
    for (const step of [1, 2, 3, 1_000, bytes.length]) {
      const reader = new TextReader();
      const read: string[] = [];
      for (let at = 0; at < bytes.length; at += step) read.push(...reader.read(bytes.subarray(at, at + step)));
      expect(read).toEqual(texts);
    }
  });

  it("have what was sent under its number", () => {
    expect(readNumbered("12\n[1,\n2]")).toEqual({ number: 12, text: "[1,\n2]" });
  });
});
