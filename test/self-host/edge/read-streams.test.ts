// Clients of the edge in Node read a relay's streams on one line: both ends, with the line between them in memory.

import { describe, expect, it, vi } from "vitest";
import { ReadingLine } from "../../../durable-objects/relay/reading-line.ts";
import type { Leave, Outlet } from "../../../durable-objects/relay/stream-reader.ts";
import { MAX_AWAY_BYTES } from "../../../durable-objects/sockets/reading-frames.ts";
import { ReadStreams } from "../../../self-host/edge/read-streams.ts";
import { eventually } from "../../support/eventually.ts";

const KIB = 1024;
const encoder = new TextEncoder();
const bytesOf = (text: string): Uint8Array => encoder.encode(text);

interface Joined {
  readonly outlet: Outlet;
  readonly leave: ReturnType<typeof vi.fn<Leave>>;
}

/** `status`: of a read that joins nothing. */
interface Ways {
  readonly takeTurn?: (bytes: number) => Promise<void> | null;
  readonly status?: number;
}

const bothEnds = ({ takeTurn = () => null, status = 200 }: Ways = {}) => {
  const messages: Buffer[] = [];
  const said: string[] = [];
  const joined = new Map<string, Joined>();
  const noteRead = vi.fn<(bytes: number) => void>();
  const line = { tell: vi.fn(), pause: vi.fn(), resume: vi.fn() };
  const relay = new ReadingLine(
    (message) => {
      messages.push(Buffer.from(message));
      // As on a socket, whose other end hears later.
      setImmediate(() => edge.take(Buffer.from(message)));
    },
    {},
    async (query, open) => {
      const leave = vi.fn<Leave>();
      if (status === 200) joined.set(query, { outlet: open(leave), leave });
      return status;
    },
  );
  const edge = new ReadStreams(
    {
      ...line,
      tell: (_method, text) => {
        said.push(text);
        setImmediate(() => relay.hear(text));
      },
    },
    { takeTurn, noteRead },
  );
  const join = async (query: string, ifLost?: (last: string) => string) => {
    const answer = await edge.read(query, ifLost);
    return { ...(joined.get(query) as Joined), reader: answer.body.getReader() };
  };
  return { relay, edge, join, joined, messages, said, noteRead, line };
};

type Reading = ReadableStreamDefaultReader<Uint8Array>;
const next = async (reader: Reading): Promise<string> => new TextDecoder().decode((await reader.read()).value);
const rest = async (reader: Reading): Promise<string> => {
  let text = "";
  for (let read = await reader.read(); !read.done; read = await reader.read())
    text += new TextDecoder().decode(read.value);
  return text;
};

describe("a read", () => {
  it("gives each reader its own bytes, and ends; what comes in one stretch is one message", async () => {
    const { join, messages, noteRead } = bothEnds();
    const [one, two] = [await join("a"), await join("b")];
    const before = messages.length;
    for (const text of ["x", "y"]) one.outlet.write(bytesOf(text));
    two.outlet.write(bytesOf("größe"));
    for (const { outlet } of [one, two]) outlet.close();
    expect(await rest(one.reader)).toBe("xy");
    expect(await rest(two.reader)).toBe("größe");
    expect(messages.length).toBe(before + 1);
    expect(noteRead).toHaveBeenLastCalledWith(9);
  });

  it("begins at once; what comes after it, in many stretches, goes in few messages", async () => {
    const { join, messages } = bothEnds();
    const [one, two] = [await join("a"), await join("b")];
    expect(messages.length).toBe(2);
    for (let count = 0; count < 20; count += 1) {
      for (const { outlet } of [one, two]) outlet.write(bytesOf("token "));
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (const { outlet } of [one, two]) outlet.close();
    expect(await rest(one.reader)).toBe("token ".repeat(20));
    expect(await rest(two.reader)).toBe("token ".repeat(20));
    expect(messages.length).toBeLessThan(8);
  });

  it.each([410, 424, 429])("that is answered with %i joins nothing", async (status) => {
    const { edge } = bothEnds({ status });
    expect(await edge.read("a")).toMatchObject({ status });
    expect(edge.size).toBe(0);
  });

  it("that was cut without last words fails", async () => {
    const { join } = bothEnds();
    const { outlet, reader } = await join("a");
    outlet.write(bytesOf("half"));
    expect(await next(reader)).toBe("half");
    outlet.cut();
    await expect(reader.read()).rejects.toThrow("cut");
  });

  it.each(["\n\n", "\r\n\r\n", "\r\r"])(
    "that breaks off ends behind a whole event (%j), with last words",
    async (end) => {
      const { edge, join } = bothEnds();
      const { outlet, reader } = await join("a", (last) => `after ${last}`);
      outlet.write(bytesOf(`data: one${end}data: half`));
      expect(await next(reader)).toBe(`data: one${end}`);
      const reading = reader.read();
      edge.end(new Error("the process died"));
      expect(new TextDecoder().decode((await reading).value)).toBe(`after data: one${end}`);
      expect((await reader.read()).done).toBe(true);
    },
  );

  it("with last words passes an event in pieces, and what stands at the end without its own", async () => {
    const { join } = bothEnds();
    const { outlet, reader } = await join("a", () => "lost");
    for (const text of ["data: o", "ne\n", "\ndata: two"]) outlet.write(bytesOf(text));
    outlet.close();
    expect(await next(reader)).toBe("data: one\n\n");
    expect(await rest(reader)).toBe("data: two");
  });

  it("without an answer fails when the line ends", async () => {
    const { edge } = bothEnds();
    const reading = edge.read("a");
    edge.end(new Error("the process died"));
    await expect(reading).rejects.toMatchObject({ retryable: true });
  });
});

describe("a reader that leaves", () => {
  it("leaves its stream, also when the whole line ends", async () => {
    const { relay, edge, join } = bothEnds();
    const [one, two] = [await join("a"), await join("b")];
    await one.reader.cancel();
    await eventually(() => expect(one.leave).toHaveBeenCalledExactlyOnceWith("left"));
    expect(edge.size).toBe(1);
    expect(two.leave).not.toHaveBeenCalled();
    relay.ended();
    expect(two.leave).toHaveBeenCalledExactlyOnceWith("lost");
  });

  it("is told together with those that leave in the same turn", async () => {
    const { edge, join, said } = bothEnds();
    const readers = await Promise.all(Array.from({ length: 20 }, (_, index) => join(String(index))));
    const before = said.length;
    await Promise.all(readers.map(({ reader }) => reader.cancel()));
    await eventually(() => {
      for (const { leave } of readers) expect(leave).toHaveBeenCalledOnce();
    });
    expect(said.length - before).toBe(1);
    expect(edge.size).toBe(0);
  });

  it("before its stream begins leaves it then", async () => {
    const begun = Promise.withResolvers<void>();
    const leave = vi.fn<Leave>();
    const relay = new ReadingLine(
      () => undefined,
      {},
      async (_query, open) => {
        await begun.promise;
        open(leave);
        return 200;
      },
    );
    relay.hear("read 1 a");
    relay.hear("left 1 ");
    begun.resolve();
    await eventually(() => expect(leave).toHaveBeenCalledOnce());
  });
});

describe("what a reader leaves untaken", () => {
  const PIECE = bytesOf("x".repeat(KIB));
  const sentTo = (messages: readonly Buffer[]): number => messages.reduce((sum, { length }) => sum + length, 0);

  it("stays with the relay, but for a little, and comes when it reads on", async () => {
    const { join, messages } = bothEnds();
    const { outlet, reader } = await join("a");
    for (let count = 0; count < 1_000; count += 1) outlet.write(PIECE);
    outlet.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(sentTo(messages)).toBeLessThan(2 * MAX_AWAY_BYTES);
    expect(outlet.unreadBytes).toBe(1_000 * (KIB + 64));
    expect((await rest(reader)).length).toBe(1_000 * KIB);
    expect(outlet.unreadBytes).toBeLessThan(MAX_AWAY_BYTES);
  });

  it("is told in few messages", async () => {
    const { join, said } = bothEnds();
    const readers = await Promise.all(Array.from({ length: 20 }, (_, index) => join(String(index))));
    const before = said.length;
    for (let count = 0; count < 5; count += 1) {
      for (const { outlet } of readers) outlet.write(bytesOf("token"));
      await Promise.all(readers.map(({ reader }) => reader.read()));
    }
    await eventually(() => expect(readers.map(({ outlet }) => outlet.unreadBytes)).toEqual(readers.map(() => 0)));
    expect(said.length - before).toBeLessThan(5);
  });
});

it("what comes waits for its tenant's turn, and the line is not read meanwhile", async () => {
  const turn = Promise.withResolvers<void>();
  const takeTurn = vi.fn<(bytes: number) => Promise<void> | null>(() => null);
  const { edge, join, line } = bothEnds({ takeTurn });
  const { outlet, reader } = await join("a");
  takeTurn.mockReturnValueOnce(turn.promise);
  outlet.write(bytesOf("one"));
  const read = vi.fn();
  void reader.read().then(read);
  await eventually(() => expect(line.pause).toHaveBeenCalledOnce());
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(read).not.toHaveBeenCalled();
  expect(takeTurn).toHaveBeenLastCalledWith(2 * KIB);
  turn.resolve();
  await eventually(() => expect(read).toHaveBeenCalledOnce());
  expect(line.resume).toHaveBeenCalledOnce();
  expect(edge.size).toBe(1);
});

it("a message that is none is refused", () => {
  const { edge } = bothEnds();
  expect(() => edge.take(Buffer.from("1 text\nfoo"))).toThrow();
});
