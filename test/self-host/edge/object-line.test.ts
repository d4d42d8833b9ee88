// Calls on a line to an object: each gets its own answer, or hears at once that there is none. Streams beside it.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { Socket } from "node:net";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { answeredText, askedText, readAnswered, readAsked } from "../../../durable-objects/sockets/object-line.ts";
import { FileRoom } from "../../../self-host/edge/file-room.ts";
import { Paces } from "../../../self-host/edge/frames/pace.ts";
import { type Message, MessageReader, textFrame } from "../../../self-host/edge/frames/websocket-frame.ts";
import { ObjectProcess } from "../../../self-host/edge/object-process.ts";
import { FairTurns } from "../../../self-host/edge/turns/fair-turns.ts";
import { folderForEachTest } from "../../support/temporary-folder.ts";

const OBJECT = "/TENANT/t";

const folder = folderForEachTest();
let server: Server;
let objects: ObjectProcess;
let paces: Paces;
let upgrades: { url: string | undefined; headers: Record<string, unknown> }[] = [];
let sockets: WebSocket[] = [];
/** How an object answers a message. */
let answer: (socket: WebSocket, message: string) => void;
/** How it answers any other request. */
let respond: (socket: Socket) => void;

/** As an object that returns what it is asked. */
const echo = (socket: WebSocket, message: string): void => {
  const { number, text } = readAsked(message);
  socket.send(`${number}\n${text}`);
};
const ended = (): number => sockets.filter(({ readyState }) => readyState > 1).length;

beforeEach(async () => {
  upgrades = [];
  sockets = [];
  answer = echo;
  server = createServer(({ socket }) => respond(socket));
  new WebSocketServer({ server }).on("connection", (socket, { url, headers }) => {
    upgrades.push({ url, headers });
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.on("message", (message) => answer(socket, String(message)));
  });
  server.listen(path.join(folder.path, "door.sock"));
  await once(server, "listening");
  paces = new Paces();
  objects = new ObjectProcess(
    path.join(folder.path, "door.sock"),
    "secret",
    paces,
    new FairTurns(),
    new FileRoom(() => false),
  );
});

afterEach(() => {
  objects.close();
  server.close();
  for (const socket of sockets) socket.terminate();
});

const group = (text: string): string => JSON.stringify([{ value: text }]);
const send = async (text: string, to = OBJECT): Promise<unknown> => {
  const [line = ""] = await objects.sendGroup(to, group(text));
  return JSON.parse(line);
};

describe("a group", () => {
  it("opens the line with the secret, and the next one uses it", async () => {
    expect(await send("one")).toEqual([{ value: "one" }]);
    expect(await send("two")).toEqual([{ value: "two" }]);
    expect(upgrades).toMatchObject([
      { url: OBJECT, headers: { authorization: "secret", "x-signalbox-url": "https://object/line" } },
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
    await Promise.all([send("one"), send("two", "/TENANT/other")]);
    expect(upgrades.map(({ url }) => url).sort()).toEqual(["/TENANT/other", OBJECT]);
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
    const nobody = new ObjectProcess(
      path.join(folder.path, "nobody.sock"),
      "secret",
      paces,
      new FairTurns(),
      new FileRoom(() => false),
    );
    await expect(nobody.sendGroup(OBJECT, "[]")).rejects.toMatchObject({ retryable: true });
    nobody.close();
  });

  it("that still waits when the server stops is told so", async () => {
    answer = () => undefined;
    const waiting = send("one");
    await expect.poll(() => sockets.length).toBe(1);
    objects.close();
    await expect(waiting).rejects.toMatchObject({ retryable: true });
  });
});

describe("a call", () => {
  const answering = (outcome: unknown) => (socket: WebSocket, message: string) =>
    socket.send(answeredText({ number: readAsked(message).number, text: JSON.stringify(outcome) }));

  it("names its method, and gets its value", async () => {
    let asked: unknown = null;
    answer = (socket, message) => {
      asked = readAsked(message);
      answering({ value: 7 })(socket, message);
    };
    expect(await objects.call(OBJECT, "count", ["a", null])).toBe(7);
    expect(asked).toEqual({ number: 1, method: "count", text: '["a",null]' });
  });

  it("throws what its method threw", async () => {
    answer = answering({ thrown: { message: "busy", overloaded: true } });
    await expect(objects.call(OBJECT, "count", [])).rejects.toMatchObject({ message: "busy", overloaded: true });
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
    await send("one", "/TENANT/other");
    expect(ended()).toBe(0);
    vi.advanceTimersByTime(7_001);
    await expect.poll(ended).toBe(1);
    await send("two", "/TENANT/other");
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
    for (let count = 0; count < 200; count += 1) await send("one", `/TENANT/t${count}`);
    await send("two", "/TENANT/t0");
    expect(ended()).toBe(0);
    await send("one", "/TENANT/t200");
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
      const reader = new MessageReader();
      const read: Message[] = [];
      for (let at = 0; at < bytes.length; at += step) read.push(...reader.read(bytes.subarray(at, at + step)));
      expect(read).toEqual(texts);
    }
  });

  it("have a number, a method, and any text", () => {
    const asked = { number: 12, method: "call", text: "[1,\n 2]" };
    expect(readAsked(askedText(asked))).toEqual(asked);
    const answered = { number: 12, text: "a b\nc" };
    expect(readAnswered(answeredText(answered))).toEqual(answered);
  });
});

describe("a stream", () => {
  const ANSWER = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n";

  it("arrives part by part, and hears that the process has died", async () => {
    let process: Socket | null = null;
    respond = (socket) => {
      process = socket;
      socket.write(ANSWER);
    };
    const reader = (await objects.fetch("/RELAY/r", "https://relay/read")).body.getReader();
    expect(String(Buffer.from((await reader.read()).value ?? []))).toBe("first");
    (process as Socket | null)?.destroy();
    await expect(reader.read()).rejects.toThrow();
  });

  it("whose reader leaves ends its request", async () => {
    const left = Promise.withResolvers<void>();
    respond = (socket) => {
      socket.once("close", () => left.resolve());
      socket.write(ANSWER);
    };
    const { body } = await objects.fetch("/RELAY/r", "https://relay/read");
    await body.cancel();
    await left.promise;
  });

  it("has a connection of its own, because a process may close one that is idle at any moment", async () => {
    const used = new Set<Socket>();
    respond = (socket) => {
      if (used.has(socket)) return void socket.destroy();
      used.add(socket);
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst");
    };
    for (let count = 0; count < 3; count += 1)
      expect(await (await objects.fetch("/RELAY/r", "https://relay/read")).text()).toBe("first");
    expect(used.size).toBe(3);
  });

  it("that breaks off on its way to a process fails its request, and nothing else", async () => {
    respond = () => undefined;
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error("the client left")) });
    const sent = objects.fetch("/RELAY/r", "https://relay/write", { method: "POST", body });
    await expect(sent).rejects.toMatchObject({ retryable: true });
  });
});
