// What an outsider can make a relay keep: output of jobs that a worker does not have, output that nobody reads.

import { describe, expect, test, vi } from "vitest";
import { AHEAD_CHARS, MAX_PART_BYTES, MAX_READERS_OF_A_STREAM, PIECE_CHARS } from "../../contract/data-line.ts";
import { piecesOf } from "../../contract/text/event-text.ts";
import { boundFor, forgetHolder, makeRoom, noteHolder } from "../../durable-objects/relay/held-output.ts";
import {
  BURST_MS,
  PROCESS_BYTES,
  RELAY_BYTES,
  STREAM_BYTES,
  WINDOW_BYTES,
} from "../../durable-objects/relay/relay-bounds.ts";
import { RelayedStream } from "../../durable-objects/relay/relayed-stream.ts";
import { BodyOutlet, Reader } from "../../durable-objects/relay/stream-reader.ts";
import { UnconfirmedStreams } from "../../durable-objects/relay/unconfirmed-streams.ts";
import { WorkerStreams } from "../../durable-objects/relay/worker-streams.ts";

const NOW = 1_000_000;
const event = (text: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`;
const streamOf = (jobId = "a"): RelayedStream => new RelayedStream(jobId, 1, NOW);
const bodies = new WeakMap<Reader, ReadableStream<Uint8Array>>();
const bodyOf = (one: Reader): ReadableStream<Uint8Array> => bodies.get(one) as ReadableStream<Uint8Array>;
const reader = (more: Partial<Reader["wishes"]> = {}): Reader => {
  const wishes = {
    api: "chat/completions",
    isNumbered: false,
    stripsUsage: true,
    keepAliveMs: 5_000,
    after: 0,
  } as const;
  const outlet = new BodyOutlet(() => undefined);
  const made = new Reader({ holder: null, wishes: { ...wishes, ...more } }, NOW, outlet);
  bodies.set(made, outlet.body);
  return made;
};
const second = (): Reader => reader({ api: null, isNumbered: true });

const chunksOf = async (one: Reader): Promise<Uint8Array[]> => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bodyOf(one)) chunks.push(chunk);
  return chunks;
};
const textOf = async (one: Reader): Promise<string> => Buffer.concat(await chunksOf(one)).toString();

describe("output that readers leave unread", () => {
  test("is encoded once: all readers of a stream get the same bytes", async () => {
    const stream = streamOf();
    const readers = [reader(), reader(), second(), second()];
    for (const one of readers) stream.join(one, NOW);
    stream.publish(event("hello"), NOW);
    stream.publish(event("again"), NOW);
    const late = [second(), second()];
    for (const one of late) stream.join(one, NOW);
    stream.finish(null, NOW);
    const [a, b, c, d, e, f] = await Promise.all([...readers, ...late].map(chunksOf));
    expect(a?.[0]).toBe(b?.[0]);
    expect(c?.[0]).toBe(d?.[0]);
    expect(e?.[0]).toBe(f?.[0]);
    expect(Buffer.concat(e ?? [])).toEqual(Buffer.concat(c ?? []));
  });

  test("in very many small parts is kept in few, whose events keep their numbers", async () => {
    const stream = streamOf();
    const first = second();
    stream.join(first, NOW);
    const COUNT = 30_000;
    for (let number = 0; number < COUNT / 2; number += 1) stream.publish(`data: ${number}\n\n`, NOW);
    const middle = reader({ api: null, isNumbered: true, after: COUNT / 2 - 1 });
    stream.join(middle, NOW);
    for (let number = COUNT / 2; number < COUNT; number += 1) stream.publish(`data: ${number}\n\n`, NOW);
    const late = reader({ api: null, isNumbered: true, after: COUNT - 2 });
    const plain = reader();
    for (const one of [late, plain]) stream.join(one, NOW);
    stream.finish(null, NOW);
    const [all, half, end] = await Promise.all([first, middle, late].map(textOf));
    expect(all?.endsWith(half ?? "none")).toBe(true);
    expect(half?.startsWith(`event: chunk\nid: 1.${COUNT / 2}\n`)).toBe(true);
    expect(end).toBe([COUNT - 1, COUNT].map((id) => `event: chunk\nid: 1.${id}\ndata: ${id - 1}\n\n`).join(""));
    expect((await chunksOf(plain)).length).toBeLessThan(300);
  });

  test("counts more than its bytes where it comes in very small pieces", () => {
    const stream = streamOf();
    const slow = second();
    stream.join(slow, NOW);
    for (let sent = 0; sent < 20_000; sent += 1) stream.publish("data: x\n\n", NOW);
    expect(slow.unreadBytes).toBeGreaterThan(20_000 * 96);
    expect(slow.isSlow(NOW, 0)).toBe(false);
    expect(slow.isSlow(NOW + BURST_MS, 0)).toBe(true);
  });

  test("takes the memory of one reader, however many leave it", () => {
    const held = (count: number): number => {
      const stream = streamOf();
      for (let number = 0; number < count; number += 1) stream.join(second(), NOW);
      for (let sent = 0; sent < 30; sent += 1) stream.publish(event("y".repeat(100_000)), NOW);
      return stream.heldBytes;
    };
    expect(held(16)).toBe(held(1));
    expect(held(16)).toBeLessThan(4 * WINDOW_BYTES + 30 * 100_200);
  });

  test("is whole for a client that waited, though more than a window came with its first event", async () => {
    const stream = streamOf();
    stream.awaitedBy += 1;
    const frame = Array.from({ length: 4 }, (_, index) => event(`${index}`.repeat(900_000)));
    for (const part of frame) stream.publish(part, NOW);
    stream.awaitedBy -= 1;
    const client = reader();
    expect(stream.window.has(client.wishes.after)).toBe(true);
    stream.join(client, NOW);
    stream.publish(event("more"), NOW);
    expect(stream.window.text.length).toBeLessThan(WINDOW_BYTES);
    stream.finish(null, NOW);
    expect((await textOf(client)).startsWith(frame.join(""))).toBe(true);
  });

  test("is left by at most sixteen second readers; the client that asked is not counted", () => {
    const stream = streamOf();
    stream.join(reader(), NOW);
    for (let number = 0; number < MAX_READERS_OF_A_STREAM; number += 1) {
      expect(stream.isFull).toBe(false);
      stream.join(second(), NOW);
    }
    expect(stream.isFull).toBe(true);
  });

  test("does not count as unread in a burst, and does two seconds later", () => {
    const stream = streamOf();
    const slow = second();
    stream.join(slow, NOW);
    for (let sent = 0; sent < 20; sent += 1) stream.publish(event("y".repeat(100_000)), NOW);
    expect(slow.isSlow(NOW, 0)).toBe(false);
    expect(slow.isSlow(NOW + BURST_MS, 0)).toBe(true);
  });

  test("lets its worker say more once it has taken all but 1 MiB", async () => {
    const stream = streamOf();
    const behind = reader();
    stream.join(behind, NOW);
    stream.publish(event("y".repeat(100_000)), NOW);
    expect(stream.takeTold()).toBe(null);
    for (let sent = 0; sent < 5; sent += 1) stream.publish(event("y".repeat(100_000)), NOW);
    expect(stream.takeTold()).toBe(stream.said.chars);
    for (let sent = 0; sent < 10; sent += 1) stream.publish(event("y".repeat(100_000)), NOW);
    expect(stream.takeTold()).toBe(null);
    const reading = bodyOf(behind).getReader();
    while (behind.unreadBytes > WINDOW_BYTES) await reading.read();
    expect(stream.takeTold()).toBe(stream.said.chars);
    expect(stream.takeTold()).toBe(null);
  });

  test("of sound stays little, so that who plays it while it comes is never slow", async () => {
    const [stream, listener] = [streamOf(), reader({ api: "audio/speech" })];
    stream.join(listener, NOW);
    const piece = event("x".repeat(PIECE_CHARS));
    stream.publish(piece, NOW);
    expect(stream.takeTold()).toBe(null);
    // What its worker says until it waits.
    stream.publish(event("x".repeat(AHEAD_CHARS)), NOW);
    expect(listener.isSlow(NOW + 10 * BURST_MS, 0)).toBe(false);
    const listening = bodyOf(listener).getReader();
    await listening.read();
    expect(stream.takeTold()).toBe(null);
    while (listener.unreadBytes > WINDOW_BYTES / 4) await listening.read();
    expect(stream.takeTold()).toBe(stream.said.chars);
  });

  test.each([
    ["in pieces", (long: string) => [...piecesOf(long, PIECE_CHARS)]],
    ["whole, as over HTTP", (long: string) => [long]],
  ])("of two long events, %s, gets time; of more than 16 MiB it does not", (_, cut) => {
    const stream = streamOf();
    const slow = second();
    stream.join(slow, NOW);
    const long = event("y".repeat(3 * MAX_PART_BYTES));
    const isSlow = (): boolean => {
      for (const piece of cut(long)) stream.publish(piece, NOW);
      slow.isSlow(NOW, stream.said.longEventBytes);
      return slow.isSlow(NOW + BURST_MS, stream.said.longEventBytes);
    };
    expect([1, 2, 3, 4, 5, 6].map(isSlow)).toEqual([false, false, false, false, false, true]);
  });

  test("does not make a reader slow that takes what came two seconds ago, though more comes, until it stops", async () => {
    const stream = streamOf();
    const behind = reader();
    stream.join(behind, NOW);
    const reading = bodyOf(behind).getReader();
    const takeSome = async (): Promise<void> => {
      for (let bytes = 0; bytes < 1_500_000; ) bytes += (await reading.read()).value?.byteLength ?? 0;
    };
    const publishSome = (nowAt: number): void => {
      for (let sent = 0; sent < 15; sent += 1) stream.publish(event("y".repeat(100_000)), nowAt);
    };
    publishSome(NOW);
    for (let atMs = 0; atMs <= 5 * BURST_MS; atMs += BURST_MS / 2) {
      publishSome(NOW + atMs);
      expect(behind.unreadBytes).toBeGreaterThan(WINDOW_BYTES);
      expect(behind.isSlow(NOW + atMs, 0), `after ${atMs} ms`).toBe(false);
      await takeSome();
    }
    expect(behind.isSlow(NOW + 5.5 * BURST_MS, 0)).toBe(false);
    expect(behind.isSlow(NOW + 6.5 * BURST_MS, 0)).toBe(true);
  });
});

describe("a relay above its bound", () => {
  const filled = (jobId: string, readers: Reader[] = []): RelayedStream => {
    const stream = streamOf(jobId);
    for (const one of readers) stream.join(one, NOW);
    for (let sent = 0; sent < 9; sent += 1) stream.publish(event("y".repeat(100_000)), NOW);
    return stream;
  };

  test("empties windows first, the oldest stream's first; a late reader is told that they are gone", () => {
    const streams = new Map([
      ["a", filled("a")],
      ["b", filled("b")],
    ]);
    makeRoom(streams, () => expect.unreachable(), 1_000_000);
    expect([...streams.values()].map((one) => one.window.has(0))).toEqual([false, true]);
    expect([...streams.values()].map((one) => one.window.has(9))).toEqual([true, true]);
  });

  test("then cuts the reader furthest behind, and no other", () => {
    const [slow, fast] = [second(), second()];
    const streams = new Map([
      ["a", filled("a", [slow])],
      ["b", filled("b")],
    ]);
    streams.get("b")?.join(fast, NOW);
    streams.get("a")?.publish(event("y".repeat(500_000)), NOW);
    const cut: Reader[] = [];
    makeRoom(
      streams,
      (stream, one) => {
        cut.push(one);
        stream.readers.delete(one);
      },
      1_200_000,
    );
    expect(cut).toEqual([slow]);
  });

  test("is looked at after each MiB that its worker says: of streams beyond the bound only the last are kept", async () => {
    vi.useFakeTimers({ now: NOW });
    const streams = new WorkerStreams({
      holder: "one of a test",
      instance: "w",
      tenant: () => expect.unreachable(),
      stopWriter: () => undefined,
      tellTaken: () => undefined,
      waitUntil: () => undefined,
      onEmpty: () => undefined,
    });
    const COUNT = 2 * (RELAY_BYTES / WINDOW_BYTES);
    const wishes = { api: null, isNumbered: true, stripsUsage: false, keepAliveMs: 5_000, after: 0 };
    const read = (jobId: string): Promise<number> => {
      const asked = { instance: "w", jobId, lease: 1, jurisdiction: null, holder: null, wishes };
      return streams.join(asked, () => new BodyOutlet(() => undefined));
    };
    try {
      for (let at = 0; at < COUNT; at += 1)
        for (let sent = 0; sent < 10; sent += 1)
          streams.publish({ jobId: `job ${at}`, lease: 1 }, event("y".repeat(WINDOW_BYTES / 10 - 100)), NOW);
      const statuses = await Promise.all(Array.from({ length: COUNT }, (_, at) => read(`job ${at}`)));
      const kept = statuses.filter((status) => status === 200).length;
      expect([statuses[0], statuses.at(-1)]).toEqual([410, 200]);
      expect(kept).toBeLessThanOrEqual(RELAY_BYTES / WINDOW_BYTES + 2);
      expect(kept).toBeGreaterThan(RELAY_BYTES / WINDOW_BYTES / 2);
    } finally {
      vi.useRealTimers();
      forgetHolder("one of a test");
    }
  });

  test("still knows that a stream has said its end, and how it numbers its events", async () => {
    const stream = streamOf();
    const open = reader();
    stream.join(open, NOW);
    stream.publish(`${event("hi")}data: [DONE]\n\n`, NOW);
    stream.emptyWindow();
    stream.finish(null, NOW);
    expect(await textOf(open)).toBe(`${event("hi")}data: [DONE]\n\n`);
    expect(stream.isToldLost).toBe(false);
    const cut = streamOf();
    const codex = reader({ api: "responses" });
    cut.join(codex, NOW);
    cut.publish(
      'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"id":"resp_7"}}\n\n',
      NOW,
    );
    cut.publish(
      'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":41,"delta":"x"}\n\n',
      NOW,
    );
    cut.emptyWindow();
    cut.finish({ code: "worker_lost", message: "gone" }, NOW);
    const last = (await textOf(codex)).split("\n\n").at(-2) ?? "";
    expect(JSON.parse(last.split("data: ")[1] ?? "")).toMatchObject({
      type: "response.failed",
      sequence_number: 42,
      response: { id: "resp_7", status: "failed", error: { code: "worker_lost", message: "gone" } },
    });
  });

  test("shares the process's bound with the others equally, and may take half of what they leave", () => {
    const relays = Array.from({ length: 100 }, (_, index) => `relay ${index}`);
    const boundsWith = (count: number, heldBytes: number): number[] => {
      for (const relay of relays) forgetHolder(relay);
      for (const relay of relays.slice(0, count)) noteHolder(relay, heldBytes);
      return [boundFor("relay 0"), boundFor("one more")];
    };
    expect(boundsWith(0, 0)).toEqual([RELAY_BYTES, RELAY_BYTES]);
    expect(boundsWith(100, 0)).toEqual([RELAY_BYTES, RELAY_BYTES]);
    expect(boundsWith(2, RELAY_BYTES)).toEqual([PROCESS_BYTES / 2, PROCESS_BYTES / 2]);
    const share = Math.floor(PROCESS_BYTES / 100);
    expect(boundsWith(100, PROCESS_BYTES / 100)).toEqual([share, share]);
    const [own, other] = boundsWith(32, PROCESS_BYTES / 64) as [number, number];
    expect(own).toBeGreaterThan(PROCESS_BYTES / 4);
    expect(other).toBe(PROCESS_BYTES / 4);
    expect(boundsWith(0, 0)).toEqual([RELAY_BYTES, RELAY_BYTES]);
  });
});

describe("streams that nobody has proved to be the worker's", () => {
  const asking = (given: readonly string[], answer: Promise<unknown> = Promise.resolve()) => {
    const asked: string[][] = [];
    const refused: string[] = [];
    const unconfirmed: UnconfirmedStreams = new UnconfirmedStreams({
      ask: async (streams) => {
        asked.push(streams.map(({ jobId }) => jobId));
        await answer;
        return streams.map(({ jobId }) => given.includes(jobId));
      },
      refuse: (stream) => {
        refused.push(stream.jobId);
        unconfirmed.remove(stream);
      },
    });
    return { unconfirmed, asked, refused };
  };

  test("are asked about in one question at a time, and dropped where the tenant gave them to nobody here", async () => {
    const { unconfirmed, asked, refused } = asking(["mine"]);
    const streams = ["mine", "invented"].map((jobId) => streamOf(jobId));
    for (const stream of streams) {
      unconfirmed.add(stream);
      unconfirmed.note(stream, 1_000);
    }
    const answered = unconfirmed.ask();
    expect(unconfirmed.ask()).toBeNull();
    const later = streamOf("later");
    unconfirmed.add(later);
    await answered;
    expect(asked).toEqual([["mine", "invented"], ["later"]]);
    expect(refused).toEqual(["invented", "later"]);
    expect(unconfirmed.saidChars).toBe(2 * STREAM_BYTES);
    unconfirmed.forgetLost();
    expect(unconfirmed.saidChars).toBe(0);
    expect(unconfirmed.ask()).toBeNull();
  });

  test("count what they say until they are proved", () => {
    const { unconfirmed } = asking([]);
    const [known, unknown] = [streamOf("known"), streamOf("unknown")];
    unconfirmed.add(unknown);
    unconfirmed.note(known, 5);
    unconfirmed.note(unknown, 7);
    expect(unconfirmed.saidChars).toBe(STREAM_BYTES + 7);
    unconfirmed.remove(unknown, true);
    unconfirmed.note(unknown, 9);
    expect(unconfirmed.saidChars).toBe(0);
  });

  test("stay, where the tenant does not answer", async () => {
    const { unconfirmed, refused } = asking([], Promise.reject(new Error("away")));
    unconfirmed.add(streamOf());
    await unconfirmed.ask();
    expect(refused).toEqual([]);
    expect(unconfirmed.ask()).not.toBeNull();
  });
});

describe("events that left the window", () => {
  test("count one by one, however many came in one part: a late reader's numbers go on from them", async () => {
    const stream = streamOf();
    stream.publish(event("a") + event("b") + event("c"), NOW);
    stream.publish(event("y".repeat(WINDOW_BYTES)), NOW);
    stream.publish(event("last"), NOW);
    expect([stream.window.has(3), stream.window.has(4)]).toEqual([false, true]);
    const late = reader({ api: null, isNumbered: true, after: 4 });
    stream.join(late, NOW);
    stream.finish(null, NOW);
    expect((await textOf(late)).match(/^id: .*/gm)?.at(-1)).toMatch(/[.:-]?5$/);
  });
});
