// What clients' sockets make this process hold: messages that have begun, and those that the object was not told yet.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { HeldFrames, MAX_HELD_BYTES, passHeld, type SocketFrames } from "../../../self-host/edge/frames/held-frames.ts";

const SHARE = MAX_HELD_BYTES / 4;

interface Client {
  readonly frames: SocketFrames;
  state: "read" | "waits" | "cut";
}

let held: HeldFrames;
beforeEach(() => {
  held = new HeldFrames();
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const clientOf = (tenant: string): Client => {
  const client: { state: Client["state"]; frames?: SocketFrames } = { state: "read" };
  client.frames = held.open(tenant, {
    pause: () => {
      client.state = "waits";
    },
    resume: () => {
      client.state = "read";
    },
    cut: () => {
      client.state = "cut";
    },
  });
  return client as Client;
};
const states = (clients: readonly Client[]): string[] => clients.map(({ state }) => state);

/** The beginning of a masked text of `length` bytes: its header, and so much of the payload. */
const frame = (length: number, sent = length, first = 0x81): Buffer => {
  const header = Buffer.alloc(14);
  header[0] = first;
  header[1] = 0x80 | 127;
  header.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([header, Buffer.alloc(sent)]);
};

describe("messages that have begun", () => {
  it("wait above the tenant's bound for the one that began first, and lose nothing", () => {
    const clients = Array.from({ length: 5 }, () => clientOf("a"));
    for (const { frames } of clients) frames.take(frame(2 * SHARE, SHARE));
    expect(states(clients)).toEqual(["read", "read", "read", "waits", "waits"]);
    // Each waits when it has said more.
    for (const { frames } of clients.slice(0, 3)) frames.take(Buffer.alloc(10));
    expect(states(clients)).toEqual(["read", "waits", "waits", "waits", "waits"]);
    clients[0]?.frames.take(Buffer.alloc(SHARE - 10));
    clients[0]?.frames.told();
    expect(states(clients)).toEqual(["read", "read", "waits", "waits", "waits"]);
    clients[1]?.frames.end();
    expect(states(clients)).toEqual(["read", "read", "read", "read", "read"]);
  });

  it("of another tenant wait for none of them", () => {
    for (let count = 0; count < 5; count += 1) clientOf("a").frames.take(frame(2 * SHARE, SHARE));
    const other = clientOf("b");
    other.frames.take(frame(SHARE, 1_000_000));
    expect(other.state).toBe("read");
  });

  it("of many tenants have less each", () => {
    const tenants = ["a", "b", "c", "d", "e", "f", "g", "h"].map((tenant) => [clientOf(tenant), clientOf(tenant)]);
    for (const clients of tenants) for (const { frames } of clients) frames.take(frame(2 * SHARE, 1.2 * SHARE));
    expect(states(tenants.at(-1) ?? [])).toEqual(["read", "waits"]);
    expect(states(tenants[0] ?? [])).toEqual(["read", "read"]);
  });

  it("and do not end while others wait are cut off, one after another", () => {
    const clients = Array.from({ length: 6 }, () => clientOf("a"));
    for (const { frames } of clients) frames.take(frame(2 * SHARE, SHARE));
    vi.advanceTimersByTime(9_000);
    expect(clients[0]?.state).toBe("read");
    vi.advanceTimersByTime(1_000);
    expect(clients[0]?.state).toBe("cut");
    clients[0]?.frames.end();
    vi.advanceTimersByTime(10_000);
    expect(states(clients).slice(0, 3)).toEqual(["cut", "cut", "read"]);
  });

  it("and are whole, because the object is late, are never cut off, and neither is the next at once", () => {
    const clients = Array.from({ length: 5 }, () => clientOf("a"));
    for (const { frames } of clients) frames.take(frame(SHARE));
    vi.advanceTimersByTime(60_000);
    expect(states(clients)).toEqual(["read", "read", "read", "waits", "waits"]);
    clients[0]?.frames.told();
    clients[1]?.frames.take(frame(SHARE, 1));
    vi.advanceTimersByTime(9_000);
    expect(clients.some(({ state }) => state === "cut")).toBe(false);
  });

  it("and keep no other waiting are never cut off", () => {
    const client = clientOf("a");
    client.frames.take(frame(SHARE, 1_000_000));
    vi.advanceTimersByTime(600_000);
    expect(client.state).toBe("read");
  });

  it("count with all their frames, pings between them aside", () => {
    const clients = Array.from({ length: 5 }, () => clientOf("a"));
    for (const { frames } of clients) {
      frames.take(frame(SHARE, SHARE, 0x01));
      frames.take(frame(0, 0, 0x89));
      frames.told();
    }
    expect(states(clients)).toEqual(["read", "read", "read", "waits", "waits"]);
  });
});

it("short messages, whole ones that were told, and closed sockets count for nothing", () => {
  for (let count = 0; count < 10; count += 1) {
    const client = clientOf("a");
    client.frames.take(frame(SHARE));
    client.frames.told();
    clientOf("a").frames.take(frame(4_000));
    const closed = clientOf("a");
    closed.frames.take(frame(2 * SHARE, SHARE));
    closed.frames.end();
  }
  const last = clientOf("a");
  last.frames.take(frame(2 * SHARE, SHARE));
  expect(last.state).toBe("read");
});

it("pings, which the object is not told of, count for nothing", () => {
  const [pinging, other] = [clientOf("a"), clientOf("a")];
  for (let count = 0; count < 40; count += 1) pinging.frames.take(frame(1_000_000, 1_000_000, 0x89));
  other.frames.take(frame(SHARE, 1_000_000));
  expect(states([pinging, other])).toEqual(["read", "read"]);
});

it("what a line's messages make the objects' process hold is passed on in the same way", async () => {
  vi.useRealTimers();
  const lines = Array.from({ length: 5 }, () => passHeld(held, "a"));
  const passed = lines.map(() => 0);
  for (const [index, line] of lines.entries())
    line.on("data", (bytes: Buffer) => {
      passed[index] = (passed[index] ?? 0) + bytes.length;
    });
  const begun = frame(2 * SHARE, SHARE);
  for (const line of lines) line.write(begun);
  await expect.poll(() => passed.map((bytes) => bytes > 0)).toEqual([true, true, true, false, false]);
  for (const line of lines.slice(0, 2)) line.destroy();
  await expect.poll(() => passed[4]).toBe(begun.length);
  lines[3]?.write(Buffer.alloc(SHARE));
  await expect.poll(() => passed[3]).toBe(begun.length + SHARE);
});
