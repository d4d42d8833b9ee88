import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import {
  Bucket,
  FULL_AGAIN_MS,
  frameCutter,
  Paces,
  READER_BYTES_A_SECOND,
} from "../../../self-host/edge/frames/pace.ts";

describe("the bytes of a tenant's data lines", () => {
  test("pass at once until the burst is used, then wait for their share of a second", () => {
    const bucket = new Bucket(0, 1_000, 500);
    expect(bucket.take(500, 0)).toBe(0);
    expect(bucket.take(100, 0)).toBe(100);
    expect(bucket.take(100, 0)).toBe(200);
    expect(bucket.take(0, 200)).toBe(0);
    expect(bucket.take(100, 300)).toBe(0);
  });

  test("never gather more than the burst, however long nothing comes", () => {
    const bucket = new Bucket(0, 1_000, 500);
    expect(bucket.take(600, 1_000_000)).toBe(100);
  });

  test("do not gain by a clock that goes back", () => {
    const bucket = new Bucket(1_000, 1_000, 500);
    bucket.take(500, 1_000);
    expect(bucket.take(100, 0)).toBe(100);
  });

  test("share one bucket over all lines of the tenant, which is forgotten when it is full again", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const paces = new Paces();
    const lines = [paces.open("t"), paces.open("t"), paces.open("other")];
    expect(paces.size).toBe(2);
    lines[0]?.write("text");
    const [passed] = (await once(lines[0] as NodeJS.ReadableStream, "data")) as [Buffer];
    expect(String(passed)).toBe("text");
    for (const line of lines) {
      line.destroy();
      await once(line, "close");
    }
    vi.advanceTimersByTime(FULL_AGAIN_MS - 1);
    expect(paces.size).toBe(2);
    const again = paces.open("t");
    vi.advanceTimersByTime(1);
    expect(paces.size).toBe(1);
    again.destroy();
    vi.useRealTimers();
  });

  test("are not given a new burst by closing a line and opening another", async () => {
    const paces = new Paces();
    const first = paces.open("t");
    paces.noteRead("t", 100 * READER_BYTES_A_SECOND);
    first.destroy();
    await once(first, "close");
    const startedAt = performance.now();
    const second = paces.open("t");
    second.write("text");
    await once(second, "data");
    expect(performance.now() - startedAt).toBeGreaterThan(900);
    second.destroy();
  });

  test("of very many small messages pass a few at a time, and so many in a second", async () => {
    const paces = new Paces();
    const frame = Buffer.from([0x81, 0x81, 0, 0, 0, 0, 120]);
    const all = Buffer.concat(Array.from({ length: 3_000 }, () => frame));
    const passed: Buffer[] = [];
    const line = paces.open("t", frameCutter()).on("data", (bytes: Buffer) => passed.push(bytes));
    const startedAt = performance.now();
    for (const half of [all.subarray(0, 5), all.subarray(5)]) line.write(half);
    line.end();
    await once(line, "end");
    // Beyond the burst they have a share of the second.
    expect(performance.now() - startedAt).toBeGreaterThan(250);
    expect(Buffer.concat(passed)).toEqual(all);
    expect(Math.max(...passed.map(({ length }) => length))).toBeLessThanOrEqual(65 * frame.length);
  });

  test("that were left by a line that closed do not use up the others' share", async () => {
    const paces = new Paces();
    const frame = Buffer.from([0x81, 0x81, 0, 0, 0, 0, 120]);
    const left = paces.open("t", frameCutter()).resume();
    left.write(Buffer.concat(Array.from({ length: 30_000 }, () => frame)));
    await nextTurn();
    left.destroy();
    const line = paces.open("t", frameCutter());
    const startedAt = performance.now();
    for (let message = 0; message < 200; message += 1) {
      line.write(frame);
      await once(line, "data");
    }
    // Beside 64 of the other line for each of its own it would take more than 1,500.
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  test("of a large message are passed as they come, and count once", () => {
    const cut = frameCutter();
    const head = Buffer.alloc(14);
    head.writeUInt16BE(0x81ff, 0);
    head.writeBigUInt64BE(100_000n, 2);
    const counts = [head, Buffer.alloc(60_000), Buffer.alloc(40_000), Buffer.from([0x81, 0x80, 0, 0, 0, 0])].map(
      (bytes) => [...cut(bytes)].map(({ messages, bytes: { length } }) => [messages, length]),
    );
    expect(counts).toEqual([[[1, 14]], [[0, 60_000]], [[0, 40_000]], [[1, 6]]]);
  });

  test("that wait go on with the message that has begun before they begin another", async () => {
    const paces = new Paces();
    const passed: string[] = [];
    const large = paces.open("t").resume();
    large.write(Buffer.alloc(3 * 1024 * 1024));
    const head = Buffer.alloc(14);
    head.writeUInt16BE(0x81ff, 0);
    head.writeBigUInt64BE(1_600_000n, 2);
    const pieces = Array.from({ length: 8 }, () => Buffer.alloc(200_000));
    const lines = ["one", "other"].map((name) => paces.open("t", frameCutter()).on("data", () => passed.push(name)));
    for (const line of lines) {
      for (const piece of [head, ...pieces]) line.write(piece);
      line.end();
    }
    await Promise.all(lines.map((line) => once(line, "end")));
    const before = passed.slice(0, passed.lastIndexOf("one"));
    expect(before.filter((name) => name === "other").length).toBeLessThan(pieces.length / 2);
    large.destroy();
  });

  test("pass a little of all lines together in one turn of the event loop", async () => {
    const paces = new Paces();
    const passed: number[] = [];
    const lines = Array.from({ length: 8 }, () => paces.open("t").on("data", ({ length }) => passed.push(length)));
    for (const line of lines) line.write(Buffer.alloc(64 * 1024));
    const counts = [passed.length];
    await nextTurn();
    await nextTurn();
    counts.push(passed.length);
    expect(counts[0]).toBeLessThanOrEqual(4);
    expect(counts[1]).toBe(8);
    for (const line of lines) line.destroy();
  });

  test("wait while the tenant's readers were sent more than their share, for a second at most", async () => {
    const paces = new Paces();
    const [line, other] = [paces.open("t"), paces.open("other")];
    paces.noteRead("t", 100 * READER_BYTES_A_SECOND);
    const startedAt = performance.now();
    const passed = Promise.all([once(line, "data"), once(other, "data").then(() => performance.now() - startedAt)]);
    line.write("text");
    other.write("text");
    const [, otherMs] = await passed;
    expect(otherMs).toBeLessThan(500);
    expect(performance.now() - startedAt).toBeGreaterThan(900);
    line.destroy();
    other.destroy();
  });

  test("do not wait for readers within their share", () => {
    const bucket = new Bucket(0, 1_000, 500);
    bucket.charge(500, 0);
    expect(bucket.take(0, 0)).toBe(0);
    bucket.charge(10_000, 0);
    expect(bucket.take(0, 0)).toBe(1_000);
    expect(bucket.take(0, 1_000)).toBe(0);
  });
});
