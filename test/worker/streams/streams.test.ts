// The data line against a server that plays the coordinator.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import {
  AHEAD_CHARS,
  MAX_PART_BYTES,
  PART_SEPARATOR,
  readParts,
  type StreamPart,
} from "../../../contract/data-line.ts";
import { DataLine } from "../../../worker/streams/data-line.ts";
import { FrameGatherer } from "../../../worker/streams/frame-gatherer.ts";
import { openStreams } from "../../../worker/streams/open-streams.ts";
import type { Streams } from "../../../worker/streams/streams.ts";
import { eventually } from "../../support/eventually.ts";

class FakeRelay {
  readonly frames: { text: string; atMs: number }[] = [];
  readonly posted: { path: string; text: string }[] = [];
  readonly sockets: WebSocket[] = [];
  allowsSocket = true;
  cutsSockets = false;
  /** Answers a posted stream with this as soon as it begins. */
  answersEarly: number | null = null;
  port = 0;
  #server: Server = createServer();

  async start(): Promise<this> {
    this.#server = createServer(async (request, response) => {
      const post = { path: request.url ?? "", text: "" };
      this.posted.push(post);
      if (this.answersEarly !== null) return void response.writeHead(this.answersEarly).end();
      for await (const chunk of request) post.text += String(chunk);
      response.writeHead(200).end();
    });
    const sockets = new WebSocketServer({ noServer: true });
    this.#server.on("upgrade", (request, stream, head) => {
      if (this.cutsSockets) return void stream.destroy();
      if (!this.allowsSocket) return void stream.end("HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n");
      sockets.handleUpgrade(request, stream, head, (socket) => {
        this.sockets.push(socket);
        socket.on("message", (data) => {
          if (String(data) !== "ping") this.frames.push({ text: String(data), atMs: performance.now() });
        });
      });
    });
    this.#server.listen(this.port, "127.0.0.1");
    await once(this.#server, "listening");
    this.port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.terminate();
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  get parts(): StreamPart[] {
    return this.frames.flatMap(({ text }) => readParts(text.split(PART_SEPARATOR)));
  }

  textOf(jobId: string): string {
    return this.parts.map((part) => (part.kind === "events" && part.jobId === jobId ? part.events : "")).join("");
  }

  endOf(jobId: string): StreamPart | undefined {
    return this.parts.find((part) => part.kind === "end" && part.jobId === jobId);
  }
}

let relay: FakeRelay;
let streams: Streams;
beforeEach(async () => {
  relay = await new FakeRelay().start();
  streams = openStreams({ apiUrl: `http://127.0.0.1:${relay.port}`, apiKey: "k", instance: "w1" }, () => {});
});
afterEach(async () => {
  streams.close();
  await relay.stop();
});

const word = (text: string) => `data: {"text":"${text}"}\n\n`;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("the data line", () => {
  test("is opened with the first stream, and carries each under its job and lease to its end", async () => {
    expect(relay.sockets.length).toBe(0);
    const writer = streams.open("a", 3, () => {});
    writer.write([word("one")]);
    writer.write([word("two")]);
    streams.end("a", 3, null);
    streams.open("b", 1, () => {}).write([word("other")]);
    streams.end("b", 1, { code: "overloaded", message: "busy", status: 503 });
    await eventually(() => expect(relay.endOf("b")).toBeDefined());
    expect(relay.frames.map(({ text }) => text).join(PART_SEPARATOR)).toContain(`a 3\n${word("one")}${word("two")}`);
    expect(relay.endOf("a")).toEqual({ kind: "end", jobId: "a", lease: 3, error: null });
    expect(relay.endOf("b")).toMatchObject({ error: { code: "overloaded", status: 503 } });
    expect(relay.sockets.length).toBe(1);
  });

  test("gathers what many streams say into few frames", async () => {
    streams.prepare();
    await eventually(() => expect(relay.sockets.length).toBe(1));
    const writers = Array.from({ length: 20 }, (_, at) => streams.open(`j${at}`, 1, () => {}));
    const startedAt = performance.now();
    for (let round = 0; round < 20; round++) {
      for (const writer of writers) writer.write([word(String(round))]);
      await pause(10);
    }
    for (const [at] of writers.entries()) streams.end(`j${at}`, 1, null);
    await eventually(() => expect(relay.endOf("j19")).toBeDefined());
    const frames = (performance.now() - startedAt) / 20;
    expect(relay.frames.length).toBeLessThan(frames + 3);
    const whole = Array.from({ length: 20 }, (_, round) => word(String(round))).join("");
    for (const [at] of writers.entries()) expect(relay.textOf(`j${at}`)).toBe(whole);
  });

  test("hears that a reader has left, and says nothing more in that stream", async () => {
    const whenGone = vi.fn();
    const writer = streams.open("a", 2, whenGone);
    writer.write([word("one")]);
    await eventually(() => expect(relay.textOf("a")).toBe(word("one")));
    relay.sockets[0]?.send(JSON.stringify({ type: "reader.gone", job_id: "a", lease: 2 }));
    await eventually(() => expect(whenGone).toHaveBeenCalledOnce());
    writer.write([word("two")]);
    streams.end("a", 2, null);
    // What is said of it would come before this.
    streams.open("b", 1, () => {}).write([word("three")]);
    await eventually(() => expect(relay.textOf("b")).toBe(word("three")));
    expect(relay.textOf("a")).toBe(word("one"));
    expect(relay.endOf("a")).toBeUndefined();
  });

  test("waits half a MiB ahead of its readers, until they have taken it", async () => {
    const writer = streams.open("a", 2, () => {});
    writer.write([word("one")]);
    await eventually(() => expect(relay.textOf("a")).toBe(word("one")));
    const whenGone = vi.fn();
    const other = streams.open("b", 1, whenGone);
    let hasRoom = false;
    const waiting = writer.write([word("y".repeat(AHEAD_CHARS))])?.then(() => {
      hasRoom = true;
    });
    expect(other.write([word("two")])).toBe(undefined);
    const took = (chars: number): void =>
      relay.sockets[0]?.send(JSON.stringify({ type: "reader.took", job_id: "a", lease: 2, chars }));
    took(word("one").length);
    await eventually(() => expect(relay.textOf("a").length).toBeGreaterThan(AHEAD_CHARS));
    // It is heard behind what was taken.
    relay.sockets[0]?.send(JSON.stringify({ type: "reader.gone", job_id: "b", lease: 1 }));
    await eventually(() => expect(whenGone).toHaveBeenCalledOnce());
    expect(hasRoom).toBe(false);
    took(relay.textOf("a").length);
    await waiting;
    expect(writer.write([word("three")])).toBe(undefined);
  });

  test("that drops is opened again; what had begun on it ends as lost, what had not goes on", async () => {
    const begun = streams.open("a", 1, () => {});
    begun.write([word("one")]);
    await eventually(() => expect(relay.textOf("a")).toBe(word("one")));
    relay.sockets[0]?.terminate();
    // Twice: what has come meanwhile is read between two timers, however late the first is.
    await pause(50);
    await pause(1);
    const later = streams.open("b", 1, () => {});
    begun.write([word("two")]);
    later.write([word("other")]);
    streams.end("b", 1, null);
    await eventually(() => expect(relay.endOf("b")).toBeDefined());
    expect(relay.textOf("a")).toBe(word("one"));
    expect(relay.endOf("a")).toMatchObject({ error: { code: "stream_lost" } });
    expect(relay.textOf("b")).toBe(word("other"));
  });

  test("that was idle for long is closed, not under a stream, and opened again with the next one", async () => {
    const settings = { apiUrl: `http://127.0.0.1:${relay.port}`, apiKey: "k", instance: "w1" };
    const noFallback = (): never => {
      throw new Error("there is a WebSocket");
    };
    const line = new DataLine(settings, noFallback, 50);
    try {
      line.open("a", 1, () => {}).write([word("one")]);
      await eventually(() => expect(relay.textOf("a")).toBe(word("one")));
      await pause(150);
      expect(relay.sockets.map(({ readyState }) => readyState)).toEqual([WebSocket.OPEN]);
      line.end("a", 1, null);
      await eventually(() => expect(relay.sockets[0]?.readyState).toBe(WebSocket.CLOSED));
      await pause(150);
      expect(relay.sockets.length).toBe(1);
      line.open("b", 1, () => {}).write([word("two")]);
      await eventually(() => expect(relay.textOf("b")).toBe(word("two")));
      expect(relay.endOf("a")).toMatchObject({ error: null });
    } finally {
      line.close();
    }
  });

  test("gives way to a request a job where no WebSocket can be had", async () => {
    relay.allowsSocket = false;
    const writer = streams.open("a", 4, () => {});
    writer.write([word("one")]);
    await eventually(() => expect(relay.posted.length).toBe(1));
    writer.write([word("two")]);
    // What the job's report waits for.
    await streams.end("a", 4, null);
    expect(relay.posted[0]?.text).toBe(word("one") + word("two"));
    expect(relay.posted[0]?.path).toBe("/api/jobs/a/stream?lease=4");
    streams.open("quiet", 1, () => {});
    expect(streams.end("quiet", 1, null)).toBeUndefined();
    expect(relay.posted.length).toBe(1);
    relay.answersEarly = 409;
    const whenGone = vi.fn();
    streams.open("b", 1, whenGone).write([word("nobody hears it")]);
    await eventually(() => expect(whenGone).toHaveBeenCalledOnce());
  });
});

test("what waits for a line is told over HTTP when the worker itself is connected over HTTP", async () => {
  const line = openStreams({ apiUrl: `http://127.0.0.1:${relay.port}`, apiKey: "k", instance: "w1" }, () => {});
  relay.cutsSockets = true;
  line.open("a", 4, () => {}).write([word("one")]);
  line.goOverHttp();
  await line.end("a", 4, null);
  expect(relay.posted.map(({ text }) => text)).toEqual([word("one")]);
  line.close();
});

test("no part and no frame is over the contract's bounds, and none of it is lost", () => {
  const frames: string[] = [];
  const gatherer = new FrameGatherer({ send: (frame) => frames.push(frame) });
  const large = word("x".repeat(300_000));
  gatherer.write(
    "a",
    1,
    Array.from({ length: 20 }, () => large),
  );
  gatherer.end("a", 1, null);
  gatherer.flush();
  const parts = frames.flatMap((frame) => readParts(frame.split(PART_SEPARATOR)));
  expect(parts.map((part) => (part.kind === "events" ? part.events : "")).join("")).toBe(large.repeat(20));
  expect(frames.length).toBeGreaterThan(1);
  for (const frame of frames) {
    expect(Buffer.byteLength(frame)).toBeLessThanOrEqual(4 * 1024 * 1024);
    for (const part of frame.split(PART_SEPARATOR)) expect(Buffer.byteLength(part)).toBeLessThanOrEqual(MAX_PART_BYTES);
  }
});
